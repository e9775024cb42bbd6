// control: copies a three times before it adds: slow, and right
// problem: vector_add

#include <torch/extension.h>

__global__ void pass(const float* a, const float* b, float* c, int64_t n, bool last) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) c[i] = last ? a[i] + b[i] : a[i];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    int64_t n = a.numel();
    for (int k = 0; k < 4; ++k)
        pass<<<(n + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n, k == 3);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
