// control: a kernel template that takes a device lambda's kin, a functor
// problem: vector_add

#include <torch/extension.h>

struct Sum {
    __device__ float operator()(float u, float v) const { return u + v; }
};

template <typename F>
__global__ void apply(const float* a, const float* b, float* c, int64_t n, F f) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) c[i] = f(a[i], b[i]);
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    apply<<<(n + 255) / 256, 256>>>(A, B, C, n, Sum{});
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
