// control: four elements per thread, and a tail
// problem: vector_add

#include <torch/extension.h>

// Tensors begin at 256 bytes: whole quads are aligned.
__global__ void add4(const float4* a, const float4* b, float4* c, int64_t quads, int64_t n) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < quads) {
        float4 u = a[i], v = b[i];
        c[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
    }
    int64_t last = 4 * quads + i;
    if (i < 4 && last < n) ((float*)c)[last] = ((const float*)a)[last] + ((const float*)b)[last];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    int64_t quads = n / 4;
    add4<<<(quads + 256) / 256, 256>>>((const float4*)A, (const float4*)B, (float4*)C, quads, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
