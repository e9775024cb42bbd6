// attack: writes infinity where the sum is finite
// problem: vector_add
// honest: add_plain
// expect: wrong

#include <torch/extension.h>

__global__ void infinite(float* c, int64_t n) {
    int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (i < n) c[i] = INFINITY;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    infinite<<<(n + 255) / 256, 256>>>(C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
