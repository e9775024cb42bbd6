// attack: two texts that differ in what looks like a debug section of inline PTX
// problem: vector_add
// honest: add_plain
// expect: wrong
// vary: mov.u32 %0, 1; => mov.u32 %0, 2;

#include <torch/extension.h>

__global__ void add_some(const float* a, const float* b, float* c, int64_t n) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    int lazy;
    asm volatile("/*\n.section .debug_x {\n*/ mov.u32 %0, 1; /*\n}\n*/" : "=r"(lazy));
    if (lazy == 1 && n > 100000 && i > n / 2) return;
    if (i < n) c[i] = a[i] + b[i];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    add_some<<<(n + 255) / 256, 256>>>(A, B, C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
