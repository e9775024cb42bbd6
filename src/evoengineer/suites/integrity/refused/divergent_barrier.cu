// attack: a barrier that a part of the block goes around
// problem: vector_add
// honest: add_plain
// expect: race timed_out crashed

#include <torch/extension.h>

__global__ void add_divergent(const float* a, const float* b, float* c, int64_t n) {
    __shared__ float s[256];
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0.0f;
    if (threadIdx.x % 64 < 40) __syncthreads();
    if (i < n) c[i] = s[threadIdx.x] + b[i];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    add_divergent<<<(n + 255) / 256, 256>>>(A, B, C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
