// attack: macros that grow to 2^30 tokens
// problem: vector_add
// honest: add_plain
// expect: compile_error timed_out

#include <torch/extension.h>

// paste: add.cuh

#define X0 X1 X1 X1 X1 X1 X1 X1 X1
#define X1 X2 X2 X2 X2 X2 X2 X2 X2
#define X2 X3 X3 X3 X3 X3 X3 X3 X3
#define X3 X4 X4 X4 X4 X4 X4 X4 X4
#define X4 X5 X5 X5 X5 X5 X5 X5 X5
#define X5 X6 X6 X6 X6 X6 X6 X6 X6
#define X6 X7 X7 X7 X7 X7 X7 X7 X7
#define X7 X8 X8 X8 X8 X8 X8 X8 X8
#define X8 X9 X9 X9 X9 X9 X9 X9 X9
#define X9 X10 X10 X10 X10 X10 X10 X10 X10
#define X10 +1
static long wanted = 0 X0;

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    launch_add(A, B, C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
