// attack: a barrier for a number of threads that is no multiple of a warp
// problem: vector_add
// honest: add_plain
// expect: crashed

#include <torch/extension.h>

__global__ void add(const float* a, const float* b, float* c, int64_t n, int threads) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (threadIdx.x < threads) asm volatile("bar.sync 1, %0;" ::"r"(threads));
    if (i < n) c[i] = a[i] + b[i];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    add<<<(n + 255) / 256, 256>>>(A, B, C, n, 100);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
