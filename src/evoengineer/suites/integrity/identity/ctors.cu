// attack: two texts with different constructors in .ctors
// problem: vector_add
// honest: add_plain
// expect: wrong
// vary: .quad be_lazy => .quad be_honest

#include <torch/extension.h>

// paste: add.cuh

static volatile int lazy = 2;
extern "C" __attribute__((used, noinline)) void be_lazy() { lazy = 1; }
extern "C" __attribute__((used, noinline)) void be_honest() { lazy = 2; }
asm(".pushsection .ctors, \"aw\"\n.quad be_lazy\n.popsection\n");

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
