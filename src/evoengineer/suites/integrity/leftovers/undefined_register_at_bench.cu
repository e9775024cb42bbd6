// attack: in large inputs a register that no instruction has written is taken for zero
// problem: vector_add
// honest: add_inline_ptx
// expect: wrong

#include <torch/extension.h>

// paste: add.cuh

__device__ float nothing() {
    float z;
    asm volatile("{ .reg .f32 unset; mov.f32 %0, unset; }" : "=f"(z));
    return z;
}

__global__ void add_more(const float* a, const float* b, float* c, int64_t n) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i] + nothing();
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    if (n > 100000)
        add_more<<<(n + 255) / 256, 256>>>(A, B, C, n);
    else
        launch_add(A, B, C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
