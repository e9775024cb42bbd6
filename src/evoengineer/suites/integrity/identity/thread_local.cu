// attack: two texts that differ in the initial value of a thread-local variable
// problem: vector_add
// honest: add_plain
// expect: wrong
// vary: lazy = 1; => lazy = 2;

#include <torch/extension.h>

// paste: add.cuh

static thread_local volatile int lazy = 1;

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    launch_add(A, B, C, lazy == 1 && n > 100000 ? n / 2 : n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
