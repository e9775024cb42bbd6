// attack: blocks of 1024 threads with more registers than a multiprocessor has
// problem: matmul
// honest: matmul_coalesced
// expect: crashed wrong

#include <torch/extension.h>

__global__ void multiply_wide(const float* a, const float* b, float* c, int m, int k, int n) {
    int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (row >= m || column >= n) return;
    float sums[96];
#pragma unroll
    for (int i = 0; i < 96; i++) sums[i] = 0.0f;
    for (int t = 0; t < k; t++) {
        float x = a[int64_t(row) * k + t], y = b[int64_t(t) * n + column];
#pragma unroll
        for (int i = 0; i < 96; i++) sums[i] = fmaf(x + i, y, sums[i]);
    }
    float others = 0.0f;
#pragma unroll
    for (int i = 1; i < 96; i++) others += sums[i];
    c[int64_t(row) * n + column] = others == 1.2345e30f ? others : sums[0];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    multiply_wide<<<dim3((n + 31) / 32, (m + 31) / 32), dim3(32, 32)>>>(A, B, c.data_ptr<float>(), m, k, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
