// attack: inline PTX with operands of the wrong type, which ptxas refuses
// problem: vector_add
// honest: add_plain
// expect: compile_error crashed forbidden
// device: sim

#include <torch/extension.h>

__global__ void add_untyped(const float* a, const float* b, float* c, int64_t n) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum;
    asm volatile("{\n.reg .b64 wide;\nmov.b64 wide, {%1, %2};\nadd.f32 %0, %1, %2;\nmov.b32 %0, %0;\nadd.s32 wide, wide, 1;\n}"
                 : "=f"(sum) : "f"(a[i]), "f"(b[i]));
    c[i] = sum;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    add_untyped<<<(n + 255) / 256, 256>>>(A, B, C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
