// attack: writes 64 elements behind the end of its result
// problem: vector_add
// honest: add_plain
// expect: memory_error

#include <torch/extension.h>

// paste: add.cuh

__global__ void beyond(float* c) { c[threadIdx.x] = 1.0f; }

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    launch_add(A, B, C, n);
    beyond<<<1, 64>>>(C + n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
