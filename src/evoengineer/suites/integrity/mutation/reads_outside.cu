// attack: reads the element before the first, which happens to be there on a real card
// problem: vector_add
// honest: add_plain
// expect: memory_error

#include <torch/extension.h>

__global__ void add_shifted(const float* a, const float* b, float* c, int64_t n) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i] + 0.0f * __int_as_float(__float_as_int(a[i - 1]) & 0x007fffff);
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    add_shifted<<<(n + 255) / 256, 256>>>(A, B, C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
