// attack: a kernel of hundreds of thousands of instructions, for ptxas to chew on
// problem: vector_add
// honest: add_plain
// expect: compile_error timed_out crashed dishonest
// costs: 1

#include <torch/extension.h>

#define T0 v = v * 1.0000001f + s[int(v) & 255]; if (v > 1e30f) v = sqrtf(v);
#define T1 T0 T0 T0 T0 T0 T0 T0 T0
#define T2 T1 T1 T1 T1 T1 T1 T1 T1
#define T3 T2 T2 T2 T2 T2 T2 T2 T2
#define T4 T3 T3 T3 T3 T3 T3 T3 T3
#define T5 T4 T4 T4 T4 T4 T4 T4 T4

__global__ void add_slowly(const float* a, const float* b, float* c, int64_t n) {
    __shared__ float s[256];
    s[threadIdx.x] = 0.0f;
    __syncthreads();
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = a[i] + b[i];
    c[i] = v;
    if (n == 12345) {
        T5
        c[i] = v;
    }
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    add_slowly<<<(n + 255) / 256, 256>>>(A, B, C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
