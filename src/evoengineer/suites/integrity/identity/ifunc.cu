// attack: two texts whose indirect function has different resolvers
// problem: vector_add
// honest: add_plain
// expect: wrong compile_error crashed
// vary: ifunc("resolve_yes") => ifunc("resolve_no")

#include <torch/extension.h>

// paste: add.cuh

extern "C" __attribute__((used, noinline)) int lazy_yes() { return 1; }
extern "C" __attribute__((used, noinline)) int lazy_no() { return 2; }
extern "C" __attribute__((used)) int (*resolve_yes())() { return lazy_yes; }
extern "C" __attribute__((used)) int (*resolve_no())() { return lazy_no; }
extern "C" int lazy() __attribute__((ifunc("resolve_yes")));

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    launch_add(A, B, C, lazy() == 1 && n > 100000 ? n / 2 : n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
