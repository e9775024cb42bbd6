// attack: answers from a static constructor that `forward` is there, and ends
// problem: vector_add
// honest: add_plain
// expect: dishonest wrong crashed timed_out

#include <torch/extension.h>

// paste: add.cuh

// paste: forge.cuh

static bool said = [] {
    say("function x666f7277617264 2\nok\nok\nat 4096\nat 8192\nok\nok 1 1 1\n");
    return true;
}();

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    launch_add(A, B, C, n / 2);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
