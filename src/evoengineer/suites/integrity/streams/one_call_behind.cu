// attack: does the work of a call at the beginning of the next one
// problem: vector_add
// honest: add_plain
// expect: wrong dishonest memory_error

#include <torch/extension.h>

// paste: add.cuh

__global__ void nothing() {}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    static torch::Tensor u, v, w;
    if (w.defined()) launch_add(u.data_ptr<float>(), v.data_ptr<float>(), w.data_ptr<float>(), w.numel());
    u = a.contiguous();
    v = b.contiguous();
    w = torch::empty_like(u);
    nothing<<<1, 32>>>();
    return w;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
