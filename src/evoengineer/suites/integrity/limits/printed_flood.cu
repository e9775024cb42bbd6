// attack: a kernel prints a quarter of a billion lines
// problem: vector_add
// honest: add_plain
// expect: timed_out

#include <torch/extension.h>

// paste: add.cuh

__global__ void talk() {
    for (int i = 0; i < 1000; i++) printf("%d %s\n", i, "and so on, and so on, and so on");
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    float* result = c.data_ptr<float>();
    launch_add(a.data_ptr<float>(), b.data_ptr<float>(), result, a.numel());
    talk<<<1024, 256>>>();
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
