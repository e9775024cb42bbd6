// attack: a callback of the stream does host work
// problem: vector_add
// honest: add_plain
// expect: dishonest crashed forbidden compile_error

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
    static volatile float sink;
    cudaStreamAddCallback(0, [](cudaStream_t, cudaError_t, void*) { for (int i = 0; i < 1000; i++) sink = i; }, nullptr, 0);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
