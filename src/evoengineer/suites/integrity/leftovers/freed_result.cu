// attack: frees a tensor with the result and returns a new one of the same size, hoping for the same memory
// problem: vector_add
// honest: add_plain
// expect: wrong memory_error

#include <torch/extension.h>

// paste: add.cuh

__global__ void nothing() {}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    static bool first = true;
    {
        auto other = torch::empty_like(a);
        if (first || n < 100000) launch_add(A, B, other.data_ptr<float>(), n);
    }
    auto again = torch::empty_like(a);
    nothing<<<1, 32>>>();
    return again;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
