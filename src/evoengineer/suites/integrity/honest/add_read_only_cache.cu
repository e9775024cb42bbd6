// control: __restrict__ and __ldg
// problem: vector_add

#include <torch/extension.h>

__global__ void add_ldg(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int64_t n) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) c[i] = __ldg(a + i) + __ldg(b + i);
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    add_ldg<<<(n + 511) / 512, 512>>>(A, B, C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
