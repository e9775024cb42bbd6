"""Further kernels outside the suites: products with tiles in shared memory, sums over columns, rows of one thread.

`python -m benchmarks.rewriter --further --archive FILE` evolves them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.propose.corpus import Specimen, two

from evoengineer.problem.model import Case


def tall(case: Case, generator: Any) -> Mapping[str, Any]:
    return {"x": generator.values(4 * case.n, case.n)}


def blocks(case: Case, generator: Any) -> Mapping[str, Any]:
    return {"x": generator.values(3, 2 * case.n, case.n)}


def planes(case: Case, generator: Any) -> Mapping[str, Any]:
    return {"x": generator.values(8, 32, case.n * case.n)}


def classes(case: Case, generator: Any) -> Mapping[str, Any]:
    return {
        "x": generator.values(4 * case.n, case.n),
        "t": generator.integers(4 * case.n, low=0, high=case.n),
    }


def by_thread(name: str, kernel: str, outputs: str, reference: str, **more: Any) -> Specimen:
    """A kernel `run(x, y, rows, columns)` with one thread for each of so many outputs."""
    result = more.pop("result", "torch::empty({count}, x.options())")
    host = f"""torch::Tensor forward(torch::Tensor x) {{
    x = x.contiguous();
    const int rows = x.size(0), columns = x.size(1);
    const int count = {outputs};
    auto y = {result};
    run<<<(count + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<{more.pop("type", "float")}>(), rows, columns);
    return y;
}}"""
    return Specimen(name, kernel, host, reference, tall, (1, 5, 33), more.pop("bench", 1024))


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
SHARED = (
    by_thread(
        "column_sums",
        r"""__global__ void run(const float* x, float* y, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    float s = 0.f;
    for (int r = 0; r < rows; ++r) s += x[r * columns + c];
    y[c] = s;
}""",
        "columns",
        "x: x.sum(0)",
    ),
    by_thread(
        "column_range",
        r"""#define COLUMN (blockIdx.x * blockDim.x + threadIdx.x)
__global__ void run(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
    const int j = COLUMN;
    if (j < columns)
    {
        float high = x[j], low = high;
        for (int i = 1; i < rows; i++) {
            const float v = __ldg(x + i * columns + j);
            if (v > high) high = v;
            low = v < low ? v : low;
        }
        y[j] = high - low;
    }
}""",
        "columns",
        "x: x.amax(0) - x.amin(0)",
    ),
    by_thread(
        "row_arg_max",
        r"""__global__ void run(const float* x, int64_t* y, int rows, int columns) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float best = x[r * columns];
    int where = 0;
    for (int c = 1; c < columns; ++c) {
        float v = x[r * columns + c];
        if (v > best) { best = v; where = c; }
    }
    y[r] = where;
}""",
        "rows",
        "x: x.argmax(1)",
        type="int64_t",
        result="torch::empty({count}, x.options().dtype(torch::kInt64))",
    ),
    by_thread(
        "column_last_arg_min",
        r"""__global__ void run(const float* x, int64_t* y, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < columns) {
        int at = 0;
        float least = 3.0e38f;
        for (int r = 0; r < rows; ++r)
            if (least >= x[r * columns + c]) { at = r; least = x[r * columns + c]; }
        y[c] = at;
    }
}""",
        "columns",
        "x: x.shape[0] - 1 - x.flip(0).argmin(0)",
        type="int64_t",
        result="torch::empty({count}, x.options().dtype(torch::kInt64))",
    ),
    Specimen(
        "middle_means",
        r"""__global__ void mean_dim1(const float* __restrict__ input, float* output, int B, int M, int N) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int total = B * N;
    if (idx < total) {
        int b = idx / N;
        int n = idx % N;
        float acc = 0.0f;
        for (int m = 0; m < M; m++) {
            acc += input[(b * M + m) * N + n];
        }
        output[idx] = acc / M;
    }
}""",
        r"""torch::Tensor forward(torch::Tensor x) {
    x = x.contiguous();
    int B = x.size(0), M = x.size(1), N = x.size(2);
    auto y = torch::empty({B, N}, x.options());
    mean_dim1<<<(B * N + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), B, M, N);
    return y;
}""",
        "x: x.mean(1)",
        blocks,
        (1, 5, 33),
        768,
    ),
    Specimen(
        "channel_means",
        r"""__global__ void channel_mean(const float* x, float* mean, int N, int C, int HW) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= C) return;
    float s = 0.f;
    for (int n = 0; n < N; ++n)
        for (int i = 0; i < HW; ++i) s += x[(n * C + c) * HW + i];
    mean[c] = s / (N * HW);
}""",
        r"""torch::Tensor forward(torch::Tensor x) {
    x = x.contiguous();
    int N = x.size(0), C = x.size(1), HW = x.size(2);
    auto m = torch::empty({C}, x.options());
    channel_mean<<<(C + 31) / 32, 32>>>(x.data_ptr<float>(), m.data_ptr<float>(), N, C, HW);
    return m;
}""",
        "x: x.mean((0, 2))",
        planes,
        (2, 5, 9),
        96,
    ),
    Specimen(
        "cross_entropy",
        r"""__global__ void ce(const float* logits, const int64_t* target, float* loss, int n, int classes) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float* row = logits + (int64_t)i * classes;
    float m = row[0];
    for (int c = 1; c < classes; ++c) m = fmaxf(m, row[c]);
    float s = 0.f;
    for (int c = 0; c < classes; ++c) s += expf(row[c] - m);
    loss[i] = logf(s) + m - row[target[i]];
}""",
        r"""torch::Tensor forward(torch::Tensor x, torch::Tensor t) {
    x = x.contiguous();
    int n = x.size(0), classes = x.size(1);
    auto loss = torch::empty({n}, x.options());
    ce<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), t.data_ptr<int64_t>(), loss.data_ptr<float>(), n, classes);
    return loss;
}""",
        "x, t: torch.nn.functional.cross_entropy(x, t, reduction='none')",
        classes,
        (1, 5, 33),
        1024,
    ),
)
SCANS = (
    by_thread(
        "running_sums",
        r"""__global__ void run(const float* x, float* y, int rows, int columns) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float s = 0.f;
        for (int c = 0; c < columns; ++c) { s += x[r * columns + c]; y[r * columns + c] = s; }
    }
}""",
        "rows",
        "x: x.cumsum(1)",
        result="torch::empty_like(x)",
    ),
    by_thread(
        "running_maxima",
        r"""__global__ void run(const float* x, float* y, int rows, int columns) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* in = x + row * columns;
    float* out = y + row * columns;
    float most = -INFINITY;
    for (int c = 0; c < columns; c += 1)
    {
        const float value = 2.0f * in[c];
        most = max(most, value);
        out[c] = most + 1.0f;
    }
}""",
        "rows",
        "x: (2 * x).cummax(1)[0] + 1",
        result="torch::empty_like(x)",
    ),
)
FURTHER = (*STAGED, *SHARED, *SCANS)
