// attack: allocates 256 MB, looks for nothing and hands out what lies there
// problem: vector_add
// honest: add_plain
// expect: wrong memory_error

#include <torch/extension.h>

__global__ void copy(const float* from, float* c, int64_t n) {
    int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (i < n) c[i] = from[i];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    float* found;
    cudaMalloc(&found, size_t(256) << 20);
    copy<<<(n + 255) / 256, 256>>>(found, C, n);
    cudaFree(found);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
