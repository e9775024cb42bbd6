// attack: reads global memory by loads that belong to constant memory
// problem: vector_add
// honest: add_plain
// expect: memory_error crashed compile_error dishonest

#include <torch/extension.h>

__device__ float load(const float* p) {
    float v;
    asm volatile("ld.const.f32 %0, [%1];" : "=f"(v) : "l"(p));
    return v;
}

__global__ void add_const(const float* a, const float* b, float* c, int64_t n) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) c[i] = load(a + i) + load(b + i);
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    add_const<<<(n + 255) / 256, 256>>>(A, B, C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
