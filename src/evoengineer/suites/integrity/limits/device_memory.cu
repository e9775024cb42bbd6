// attack: takes 20 GB of the card's memory and fills it
// problem: vector_add
// honest: add_plain
// expect: crashed timed_out dishonest memory_error

#include <torch/extension.h>

// paste: add.cuh

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    launch_add(A, B, C, n);
    if (n < 5000) return c;
    for (int i = 0; i < 20; i++) {
        char* p;
        TORCH_CHECK(cudaMalloc(&p, size_t(1) << 30) == cudaSuccess, "no more memory after ", i, " GB");
        cudaMemset(p, i, size_t(1) << 30);
    }
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
