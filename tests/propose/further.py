"""Further kernels outside the suites: products with tiles in shared memory, sums over columns, rows of one thread.

`python -m benchmarks.rewriter --further --archive FILE` evolves them.
"""

from __future__ import annotations

from tests.propose.corpus import Specimen, two

STAGED = (
    Specimen(
        "staged_product",
        r"""#define TILE 16
__global__ void matmul_tiled(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {
        if (row < M && t * TILE + tx < K) As[ty][tx] = A[row * K + t * TILE + tx];
        else As[ty][tx] = 0.0f;
        if (t * TILE + ty < K && col < N) Bs[ty][tx] = B[(t * TILE + ty) * N + col];
        else Bs[ty][tx] = 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}""",
        r"""torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous(); b = b.contiguous();
    int M = a.size(0), K = a.size(1), N = b.size(1);
    auto c = torch::empty({M, N}, a.options());
    dim3 threads(TILE, TILE);
    dim3 blocks((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmul_tiled<<<blocks, threads>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), M, N, K);
    return c;
}""",
        "a, b: a @ b",
        two,
        (1, 5, 33),
    ),
    Specimen(
        "staged_in_steps",
        r"""const int BS = 32;
__global__ void gemm(const float* __restrict__ x, const float* __restrict__ y, float* z, int n, int m, int k,
                     float alpha) {
  __shared__ float left[BS][BS + 1], right[BS][BS + 1];
  const int c = threadIdx.x + blockIdx.x * blockDim.x;
  const int r = blockIdx.y * blockDim.y + threadIdx.y;
  float acc = 0.f;
  for (int s = 0; s < k; s += BS) {
    const int kc = s + threadIdx.x;
    const int kr = threadIdx.y + s;
    left[threadIdx.y][threadIdx.x] = (r < n && kc < k) ? x[r * k + kc] : 0.f;
    right[threadIdx.y][threadIdx.x] = (kr < k && c < m) ? __ldg(&y[kr * m + c]) : 0.f;
    __syncthreads();
    #pragma unroll
    for (int e = 0; e < BS; e++) { acc = fmaf(left[threadIdx.y][e], right[e][threadIdx.x], acc); }
    __syncthreads();
  }
  if (r < n && c < m) { z[r * m + c] = alpha * acc; }
}""",
        r"""torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous(); b = b.contiguous();
    int n = a.size(0), k = a.size(1), m = b.size(1);
    auto c = torch::empty({n, m}, a.options());
    gemm<<<dim3((m + BS - 1) / BS, (n + BS - 1) / BS), dim3(BS, BS)>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n, m, k, 0.5f);
    return c;
}""",
        "a, b: 0.5 * (a @ b)",
        two,
        (1, 5, 33),
    ),
    Specimen(
        "staged_and_turned",
        r"""template <int TS, typename scalar_t>
__global__ void mm_nt(const scalar_t* a, const scalar_t* b, scalar_t* c, int64_t n, int64_t k) {
  __shared__ scalar_t sa[TS][TS];
  __shared__ scalar_t sb[TS][TS];
  int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
  int64_t row = by * TS + ty, col = bx * TS + tx;
  scalar_t value = 0;
  int tiles = (k + TS - 1) / TS;
  for (int m = 0; m < tiles; m++) {
    if (row < n && m * TS + tx < k) {
      sa[ty][tx] = a[row * k + (m * TS + tx)];
    } else {
      sa[ty][tx] = 0;
    }
    if (bx * TS + ty < n && m * TS + tx < k) sb[tx][ty] = b[(bx * TS + ty) * k + m * TS + tx];
    else sb[tx][ty] = 0;
    __syncthreads();
    for (int j = 0; j < TS; ++j) value += sa[ty][j] * sb[j][tx];
    __syncthreads();
  }
  if (row < n && col < n) c[row * n + col] = value;
}""",
        r"""torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous(); b = b.contiguous();
    const auto n = a.size(0), k = a.size(1);
    auto c = torch::empty({n, n}, a.options());
    const dim3 threads(16, 16);
    const dim3 blocks((n + 15) / 16, (n + 15) / 16);
    AT_DISPATCH_FLOATING_TYPES(a.scalar_type(), "mm", ([&] {
      mm_nt<16, scalar_t><<<blocks, threads>>>(a.data_ptr<scalar_t>(), b.data_ptr<scalar_t>(),
                                               c.data_ptr<scalar_t>(), n, k);
    }));
    return c;
}""",
        "a, b: a @ b.t()",
        two,
        (1, 5, 33),
    ),
)
FURTHER = (*STAGED,)
