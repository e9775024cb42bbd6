// control: __launch_bounds__ and four independent loads per thread
// problem: vector_add

#include <torch/extension.h>

__global__ __launch_bounds__(256, 4) void add_unrolled(const float* a, const float* b, float* c, int64_t n) {
    int64_t start = int64_t(blockIdx.x) * 1024 + threadIdx.x;
#pragma unroll
    for (int j = 0; j < 4; j++) {
        int64_t i = start + 256 * j;
        if (i < n) c[i] = a[i] + b[i];
    }
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    add_unrolled<<<(n + 1023) / 1024, 256>>>(A, B, C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
