// attack: one element in a million is NaN, in large inputs
// problem: vector_add
// honest: add_plain
// expect: wrong

#include <torch/extension.h>

// paste: add.cuh

__global__ void spoil(float* c, int64_t n) { c[n / 8 * threadIdx.x + 77] = nanf(""); }

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    launch_add(A, B, C, n);
    if (n > 100000) spoil<<<1, 8>>>(C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
