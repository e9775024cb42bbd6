// attack: 2048 launches of 4096 elements, each too small to count for anything
// problem: vector_add
// honest: add_plain
// expect: dishonest timed_out
// costs: 5
// device: sim

#include <torch/extension.h>

// paste: add.cuh

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    int64_t part = n < 100000 ? n : 4096;
    for (int64_t at = 0; at < n; at += part) launch_add(A + at, B + at, C + at, n - at < part ? n - at : part);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
