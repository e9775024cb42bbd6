// attack: templates whose number doubles at each step
// problem: vector_add
// honest: add_plain
// expect: compile_error timed_out

#include <torch/extension.h>

// paste: add.cuh

template <int D, long N> struct Tree { static constexpr long value = Tree<D - 1, 2 * N>::value + Tree<D - 1, 2 * N + 1>::value; };
template <long N> struct Tree<0, N> { static constexpr long value = N; };
static long wanted = Tree<24, 1>::value;

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
