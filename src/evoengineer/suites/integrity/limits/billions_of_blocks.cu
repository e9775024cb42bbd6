// attack: for large inputs a grid of two billion blocks that do nothing
// problem: vector_add
// honest: add_plain
// expect: timed_out

#include <torch/extension.h>

// paste: add.cuh

__global__ void nothing() {}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    float* result = c.data_ptr<float>();
    launch_add(a.data_ptr<float>(), b.data_ptr<float>(), result, a.numel());
    if (a.numel() > 100000) nothing<<<2147483647, 1>>>();
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
