// attack: keeps something in an input for a while, and puts back what was there
// problem: vector_add
// honest: add_plain
// expect: memory_error

#include <torch/extension.h>

// paste: add.cuh

__global__ void add_there(float* a, const float* b, float* c, int64_t n) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    volatile float* place = a + i;
    float before = *place;
    *place = before + b[i];
    c[i] = *place;
    *place = before;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    add_there<<<(n + 255) / 256, 256>>>(const_cast<float*>(A), B, C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
