// control: packed accessors, so that no input needs to be contiguous
// problem: vector_add

#include <torch/extension.h>

using Vector = torch::PackedTensorAccessor32<float, 1, torch::RestrictPtrTraits>;

__global__ void add_views(const Vector a, const Vector b, Vector c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < c.size(0)) c[i] = a[i] + b[i];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty({a.size(0)}, a.options());
    add_views<<<(a.size(0) + 255) / 256, 256>>>(a.packed_accessor32<float, 1, torch::RestrictPtrTraits>(),
                                                b.packed_accessor32<float, 1, torch::RestrictPtrTraits>(),
                                                c.packed_accessor32<float, 1, torch::RestrictPtrTraits>());
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
