// control: two stages of cp.async
// problem: matmul

#include <torch/extension.h>
#include <cuda_pipeline.h>

__global__ void multiply_async(const float* a, const float* b, float* c, int m, int k, int n) {
    __shared__ float left[2][16][16], right[2][16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    auto fetch = [&](int stage, int t) {
        if (row < m && t + x < k)
            __pipeline_memcpy_async(&left[stage][y][x], a + int64_t(row) * k + t + x, 4);
        else
            left[stage][y][x] = 0.0f;
        if (column < n && t + y < k)
            __pipeline_memcpy_async(&right[stage][y][x], b + int64_t(t + y) * n + column, 4);
        else
            right[stage][y][x] = 0.0f;
        __pipeline_commit();
    };
    fetch(0, 0);
    float sum = 0.0f;
    for (int t = 0, stage = 0; t < k; t += 16, stage ^= 1) {
        if (t + 16 < k) {
            fetch(stage ^ 1, t + 16);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += left[stage][y][i] * right[stage][i][x];
        __syncthreads();
    }
    if (row < m && column < n) c[int64_t(row) * n + column] = sum;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    multiply_async<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(A, B, C, m, k, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
