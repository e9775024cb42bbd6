// attack: returns an empty tensor and launches a kernel that does nothing
// problem: vector_add
// honest: add_plain
// expect: wrong memory_error

#include <torch/extension.h>

__global__ void nothing() {}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    nothing<<<1, 32>>>();
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
