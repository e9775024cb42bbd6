// A square product in 128 x 128 tiles, 8 x 8 results in the registers of each thread: what models write, and what
// judging.py times. Sizes that are no multiple of 128 take a plain kernel.
#include <torch/extension.h>

__global__ void __launch_bounds__(256) sgemm(const float* a, const float* b, float* c, int n) {
    constexpr int kTile = 128, kDepth = 16;
    __shared__ float as[kDepth][kTile], bs[kDepth][kTile];
    const int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
    const float* a_tile = a + blockIdx.y * kTile * n;
    const float* b_tile = b + blockIdx.x * kTile;
    float sum[8][8];
#pragma unroll
    for (int i = 0; i < 64; ++i) sum[i / 8][i % 8] = 0.0f /* seed */;
    for (int k0 = 0; k0 < n; k0 += kDepth) {
        for (int part = 0; part < 2; ++part) {
            int slot = tid + part * 256, a_row = slot / 4, a_column = slot % 4 * 4;
            float4 v = *(const float4*)(a_tile + a_row * n + k0 + a_column);
            as[a_column + 0][a_row] = v.x;
            as[a_column + 1][a_row] = v.y;
            as[a_column + 2][a_row] = v.z;
            as[a_column + 3][a_row] = v.w;
            int b_row = slot / 32, b_column = slot % 32 * 4;
            *(float4*)&bs[b_row][b_column] = *(const float4*)(b_tile + (k0 + b_row) * n + b_column);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kDepth; ++k) {
            float ra[8], rb[8];
#pragma unroll
            for (int i = 0; i < 8; i += 4) {
                *(float4*)&ra[i] = *(const float4*)&as[k][ty * 8 + i];
                *(float4*)&rb[i] = *(const float4*)&bs[k][tx * 8 + i];
            }
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) sum[i][j] += ra[i] * rb[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        float* row = c + (blockIdx.y * kTile + ty * 8 + i) * n + blockIdx.x * kTile + tx * 8;
        *(float4*)row = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
        *(float4*)(row + 4) = make_float4(sum[i][4], sum[i][5], sum[i][6], sum[i][7]);
    }
}

// --- host ---
__global__ void plain(const float* a, const float* b, float* c, int m, int n, int k) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    if (m == n && n == k && n % 128 == 0) {
        sgemm<<<dim3(n / 128, n / 128), 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
    } else {
        plain<<<dim3((n + 31) / 32, (m + 7) / 8), dim3(32, 8)>>>(a.data_ptr<float>(), b.data_ptr<float>(),
                                                                  c.data_ptr<float>(), m, n, k);
    }
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "square product"); }
