// control: a small table copied to __constant__ memory in every call
// problem: vector_add

#include <torch/extension.h>

__constant__ float factors[2];

__global__ void add_scaled(const float* a, const float* b, float* c, int64_t n) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) c[i] = factors[0] * a[i] + factors[1] * b[i];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    const float host[2] = {1.0f, 1.0f};
    cudaMemcpyToSymbol(factors, host, sizeof host);
    add_scaled<<<(n + 255) / 256, 256>>>(A, B, C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
