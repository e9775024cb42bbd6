// attack: float4 without the tail
// problem: vector_add
// honest: add_float4
// expect: wrong

#include <torch/extension.h>

__global__ void add4(const float4* a, const float4* b, float4* c, int64_t quads) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < quads) c[i] = make_float4(a[i].x + b[i].x, a[i].y + b[i].y, a[i].z + b[i].z, a[i].w + b[i].w);
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    if (n >= 4) add4<<<(n / 4 + 255) / 256, 256>>>((const float4*)A, (const float4*)B, (float4*)C, n / 4);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
