"""Kernels that the rewriter had not been written for, in the ways that other authors write: launchers and structures,
tiles without tests, pointers that move, atomics of every thread, scans along columns,
    several kernels in a row.

`python -m benchmarks.rewriter --unseen --archive FILE` evolves them.
"""

from __future__ import annotations

from tests.propose.corpus import Specimen


def drawn(**values: str) -> str:
    """Inputs of these shapes, which the process of the reference draws."""
    drawn = ", ".join(f'"{name}": generator.values({shape})' for name, shape in values.items())
    return f"def make_inputs(case, generator):\n    return {{{drawn}}}\n"


UNSEEN = (
    Specimen(
        "flat_grid_product",
        r"""#define CEIL_DIV(M, N) (((M) + (N) - 1) / (N))
template <const uint BLOCK>
__global__ void mm_flat(const float* __restrict__ lhs, const float* __restrict__ rhs, float* __restrict__ out,
                        unsigned int rows, unsigned int inner, unsigned int cols) {
  const unsigned int tid = blockIdx.x * BLOCK + threadIdx.x;
  const unsigned int r = tid / cols;
  const unsigned int c = tid % cols;
  if (r < rows) {
    float acc = 0.0f;
#pragma unroll 4
    for (unsigned int p = 0; p < inner; ++p)
      acc += lhs[r * inner + p] * rhs[p * cols + c];
    out[tid] = acc;
  }
}
void launch_mm(const float* a, const float* b, float* c, int m, int k, int n) {
  constexpr int threads = 256;
  mm_flat<threads><<<CEIL_DIV(m * n, threads), threads>>>(a, b, c, m, k, n);
}
""",
        r"""torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  a = a.contiguous(); b = b.contiguous();
  auto out = torch::zeros({a.size(0), b.size(1)}, a.options());
  launch_mm(a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), a.size(0), a.size(1), b.size(1));
  return out;
}""",
        "a, b: a @ b",
        drawn(a="case.n, case.n", b="case.n, case.n"),
        (1, 5, 33),
        512,
    ),
    Specimen(
        "struct_tiles",
        r"""typedef struct {
    int width;
    int height;
    int stride;
    float* elements;
} Matrix;
#define BLOCK_SIZE 16
__device__ float GetElement(const Matrix A, int row, int col) { return A.elements[row * A.stride + col]; }
__device__ void SetElement(Matrix A, int row, int col,
    float value) { A.elements[row * A.stride + col] = value; }
__global__ void MatMulKernel(Matrix A, Matrix B, Matrix C) {
    float Cvalue = 0;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= C.height || col >= C.width) return;
    for (int e = 0; e < A.width; ++e)
        Cvalue += GetElement(A, row, e) * GetElement(B, e, col);
    SetElement(C, row, col, Cvalue);
}
""",
        r"""torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty({a.size(0), b.size(1)}, a.options());
    Matrix A, B, C;
    A.width = A.stride = a.size(1); A.height = a.size(0); A.elements = a.data_ptr<float>();
    B.width = B.stride = b.size(1); B.height = b.size(0); B.elements = b.data_ptr<float>();
    C.width = C.stride = c.size(1); C.height = c.size(0); C.elements = c.data_ptr<float>();
    dim3 dimBlock(BLOCK_SIZE, BLOCK_SIZE);
    dim3 dimGrid((B.width + dimBlock.x - 1) / dimBlock.x, (A.height + dimBlock.y - 1) / dimBlock.y);
    MatMulKernel<<<dimGrid, dimBlock>>>(A, B, C);
    return c;
}""",
        "a, b: a @ b",
        drawn(a="case.n, case.n", b="case.n, case.n"),
        (1, 5, 33),
        512,
    ),
    Specimen(
        "tiles_without_tests",
        r"""constexpr int TILE_WIDTH = 16;
__global__ void MatrixMulKernel(const float* M, const float* N, float* P, int Width) {
  __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
  __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
  int bx = blockIdx.x;  int by = blockIdx.y;
  int tx = threadIdx.x; int ty = threadIdx.y;
  int Row = by * TILE_WIDTH + ty;
  int Col = bx * TILE_WIDTH + tx;
  float Pvalue = 0;
  for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
    Mds[ty][tx] = M[Row * Width + ph * TILE_WIDTH + tx];
    Nds[ty][tx] = N[(ph * TILE_WIDTH + ty) * Width + Col];
    __syncthreads();
    for (int k = 0; k < TILE_WIDTH; ++k) {
      Pvalue += Mds[ty][k] * Nds[k][tx];
    }
    __syncthreads();
  }
  P[Row * Width + Col] = Pvalue;
}
""",
        r"""torch::Tensor forward(torch::Tensor m, torch::Tensor n) {
  int width = m.size(0);
  TORCH_CHECK(width % TILE_WIDTH == 0, "width must be a multiple of the tile");
  auto p = torch::empty({width, width}, m.options());
  MatrixMulKernel<<<dim3(width / TILE_WIDTH, width / TILE_WIDTH, 1), dim3(TILE_WIDTH, TILE_WIDTH, 1)>>>(
      m.data_ptr<float>(), n.data_ptr<float>(), p.data_ptr<float>(), width);
  return p;
}""",
        "m, n: m @ n",
        drawn(m="case.n, case.n", n="case.n, case.n"),
        (16, 32, 48, 80),
        512,
    ),
    Specimen(
        "tiles_walking_pointers",
        r"""#define CEIL_DIV(M, N) (((M) + (N) - 1) / (N))
template <const int BLOCKSIZE>
__global__ void sgemm_shared_mem_block(int M, int N, int K, float alpha, const float *A, const float *B,
    float beta, float *C) {
  const uint cRow = blockIdx.x;
  const uint cCol = blockIdx.y;
  __shared__ float As[BLOCKSIZE * BLOCKSIZE];
  __shared__ float Bs[BLOCKSIZE * BLOCKSIZE];
  const uint threadCol = threadIdx.x % BLOCKSIZE;
  const uint threadRow = threadIdx.x / BLOCKSIZE;
  A += cRow * BLOCKSIZE * K;
  B += cCol * BLOCKSIZE;
  C += cRow * BLOCKSIZE * N + cCol * BLOCKSIZE;
  float tmp = 0.0;
  for (int bkIdx = 0; bkIdx < K; bkIdx += BLOCKSIZE) {
    As[threadRow * BLOCKSIZE + threadCol] = A[threadRow * K + threadCol];
    Bs[threadRow * BLOCKSIZE + threadCol] = B[threadRow * N + threadCol];
    __syncthreads();
    A += BLOCKSIZE;
    B += BLOCKSIZE * N;
    for (int dotIdx = 0; dotIdx < BLOCKSIZE; ++dotIdx) {
      tmp += As[threadRow * BLOCKSIZE + dotIdx] * Bs[dotIdx * BLOCKSIZE + threadCol];
    }
    __syncthreads();
  }
  C[threadRow * N + threadCol] = alpha * tmp + beta * C[threadRow * N + threadCol];
}
""",
        r"""torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  const int M = a.size(0), K = a.size(1), N = b.size(1);
  auto c = torch::zeros({M, N}, a.options());
  dim3 gridDim(CEIL_DIV(M, 32), CEIL_DIV(N, 32));
  dim3 blockDim(32 * 32);
  sgemm_shared_mem_block<32><<<gridDim, blockDim>>>(M, N, K, 1.0f, a.data_ptr<float>(),
      b.data_ptr<float>(), 0.0f, c.data_ptr<float>());
  return c;
}""",
        "a, b: a @ b",
        drawn(a="case.n, case.n", b="case.n, case.n"),
        (32, 64, 96),
        512,
    ),
    Specimen(
        "cdist",
        r"""__device__ float euclid(const float* p, const float* q, int dim) {
    float acc = 0.0f;
    for (int i = 0; i < dim; ++i) {
        float diff = p[i] - q[i];
        acc += diff * diff;
    }
    return sqrtf(acc);
}
__global__ void cdist_kernel(const float* X, const float* Y, float* D, int n, int m, int dim) {
    int gid = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = blockDim.x * gridDim.x;
    for (int k = gid; k < n * m; k += stride) {
        int i = k / m;
        int j = k - i * m;
        D[k] = euclid(X + i * dim, Y + j * dim, dim);
    }
}
""",
        r"""torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
    int n = x.size(0), m = y.size(0), dim = x.size(1);
    auto d = torch::empty({n, m}, x.options());
    cdist_kernel<<<1024, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), d.data_ptr<float>(), n, m, dim);
    return d;
}""",
        "x, y: (x[:, None] - y[None]).square().sum(-1).sqrt()",
        drawn(x="case.n, 48", y="case.n, 48"),
        (1, 5, 33),
        768,
    ),
    Specimen(
        "column_variance",
        r"""__global__ void col_var(const float* a, float* out, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < cols) {
        float mean = 0.0f;
        for (int r = 0; r < rows; r++) mean += a[r * cols + c];
        mean /= rows;
        float var = 0.0f;
        for (int r = 0; r < rows; r++) {
            float diff = a[r * cols + c] - mean;
            var += diff * diff;
        }
        out[c] = var / (rows - 1);
    }
}
""",
        r"""torch::Tensor forward(torch::Tensor a) {
    auto out = torch::empty({a.size(1)}, a.options());
    col_var<<<(a.size(1) + 255) / 256, 256>>>(a.data_ptr<float>(), out.data_ptr<float>(), a.size(0),
        a.size(1));
    return out;
}""",
        "a: a.var(0)",
        drawn(a="4 * case.n, case.n"),
        (2, 5, 33),
        1024,
    ),
    Specimen(
        "exclusive_scan_rows",
        r"""__global__ void exclusive(const float *input, float *output, const int n, const int len) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    const int base = row * len;
    float acc = 0.0f;
    for (int i = 0; i < len; i++) {
        output[base + i] = acc;
        acc += input[base + i];
    }
}
""",
        r"""torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    exclusive<<<(x.size(0) + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0),
        x.size(1));
    return y;
}""",
        "x: x.cumsum(1) - x",
        drawn(x="2 * case.n, case.n"),
        (1, 5, 33),
        1024,
    ),
    Specimen(
        "column_cumsum",
        r"""__global__ void cumsum_cols(const float* __restrict__ in, float* __restrict__ out, int rows,
            int cols) {
    for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < cols; c += blockDim.x * gridDim.x) {
        float running = 0.f;
        for (int r = 0; r < rows; ++r) {
            running += in[r * cols + c];
            out[r * cols + c] = running;
        }
    }
}
""",
        r"""torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    cumsum_cols<<<(x.size(1) + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0),
        x.size(1));
    return y;
}""",
        "x: x.cumsum(0)",
        drawn(x="2 * case.n, case.n"),
        (1, 5, 33),
        1024,
    ),
    Specimen(
        "cumprod_in_memory",
        r"""__global__ void cumprod(const float* x, float* y, int64_t batch, int64_t dim) {
    int64_t b = blockIdx.x;
    if (b < batch && threadIdx.x == 0) {
        float p = 1.0f;
        for (int64_t j = 0; j < dim; ++j) {
            p *= x[b * dim + j] / (0.1f + fabsf(x[b * dim + j]));
            y[b * dim + j] = p;
        }
    }
}
""",
        r"""torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    cumprod<<<x.size(0), 1>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}""",
        "x: (x / (0.1 + x.abs())).cumprod(1)",
        drawn(x="2 * case.n, case.n"),
        (1, 5, 33),
        512,
    ),
    Specimen(
        "sum_atomic_each",
        r"""__global__ void reduce_all(const float* data, float* result, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(result, fabsf(data[i]));
    }
}
""",
        r"""torch::Tensor forward(torch::Tensor x) {
    auto out = torch::zeros({1}, x.options());
    int n = x.numel();
    reduce_all<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}""",
        "x: x.abs().sum().reshape(1)",
        drawn(x="case.n, case.n"),
        (1, 5, 17),
        512,
    ),
    Specimen(
        "histogram",
        r"""__global__ void histogram(const int* data, int* bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[data[i]], 1);
}
""",
        r"""torch::Tensor forward(torch::Tensor data) {
    auto bins = torch::zeros({256}, data.options());
    int n = data.numel();
    histogram<<<(n + 255) / 256, 256>>>(data.data_ptr<int>(), bins.data_ptr<int>(), n);
    return bins;
}""",
        "data: torch.bincount(data.reshape(-1).long(), minlength=256).int()",
        """def make_inputs(case, generator):
    return {"data": generator.integers(case.n * case.n, low=0, high=256).int()}
""",
        (1, 5, 33),
        1024,
    ),
    Specimen(
        "kl_rows",
        r"""__global__ void kl_div(const float* log_p, const float* q, float* out, int B, int N) {
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b < B) {
        float total = 0.0f;
        for (int i = 0; i < N; ++i) {
            float qi = q[b * N + i];
            if (qi > 0.0f) {
                total += qi * (logf(qi) - log_p[b * N + i]);
            }
        }
        atomicAdd(out, total / B);
    }
}
""",
        r"""torch::Tensor forward(torch::Tensor log_p, torch::Tensor q) {
    auto out = torch::zeros({}, q.options());
    kl_div<<<(q.size(0) + 255) / 256, 256>>>(log_p.data_ptr<float>(), q.data_ptr<float>(),
        out.data_ptr<float>(), q.size(0), q.size(1));
    return out;
}""",
        "log_p, q: torch.where(q > 0, q * (q.clamp(min=1e-38).log() - log_p), torch.zeros_like(q)).sum() / q.shape[0]",
        drawn(log_p="4 * case.n, case.n", q="4 * case.n, case.n"),
        (1, 5, 33),
        512,
    ),
    Specimen(
        "mse_block_atomic",
        r"""template <int BLOCK>
__global__ void mse_kernel(const float* __restrict__ pred, const float* __restrict__ target,
    float* __restrict__ loss, int n, float scale) {
    __shared__ float cache[BLOCK];
    int tid = threadIdx.x;
    float temp = 0.f;
    for (int i = blockIdx.x * BLOCK + tid; i < n; i += BLOCK * gridDim.x) {
        float d = pred[i] - target[i];
        temp += d * d;
    }
    cache[tid] = temp;
    __syncthreads();
    for (int i = BLOCK / 2; i != 0; i /= 2) {
        if (tid < i) cache[tid] += cache[tid + i];
        __syncthreads();
    }
    if (tid == 0) atomicAdd(loss, cache[0] * scale);
}
""",
        r"""torch::Tensor forward(torch::Tensor p, torch::Tensor t) {
    auto loss = torch::zeros({}, p.options());
    int n = p.numel();
    int blocks = std::min((n + 255) / 256, 64);
    mse_kernel<256><<<blocks, 256>>>(p.data_ptr<float>(), t.data_ptr<float>(), loss.data_ptr<float>(),
        n, 1.0f / n);
    return loss;
}""",
        "p, t: torch.nn.functional.mse_loss(p, t)",
        drawn(p="case.n, case.n", t="case.n, case.n"),
        (1, 5, 33),
        2048,
    ),
    Specimen(
        "transpose_3d",
        r"""__global__ void permute021(const float* x, float* y, int B, int M, int N) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= B * M * N) return;
    int n = idx % N;
    int m = (idx / N) % M;
    int b = idx / (M * N);
    y[b * N * M + n * M + m] = x[idx];
}
""",
        r"""torch::Tensor forward(torch::Tensor x) {
    int B = x.size(0), M = x.size(1), N = x.size(2);
    auto y = torch::empty({B, N, M}, x.options());
    permute021<<<(B * M * N + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), B, M, N);
    return y;
}""",
        "x: x.transpose(1, 2).contiguous()",
        drawn(x="4, case.n, 2 * case.n"),
        (1, 5, 33),
        768,
    ),
    Specimen(
        "nbody_separate",
        r"""__global__ void forces(const float* __restrict__ x, const float* __restrict__ y,
            const float* __restrict__ m, float* ax, float* ay, int n) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= n) return;
  const float xi = x[i], yi = y[i];
  float sx = 0.f, sy = 0.f;
  for (int j = 0; j < n; ++j) {
    const float dx = x[j] - xi, dy = y[j] - yi;
    const float r2 = dx * dx + dy * dy + 1e-2f;
    const float w = m[j] / (r2 * sqrtf(r2));
    sx += w * dx;
    sy += w * dy;
  }
  ax[i] = sx;
  ay[i] = sy;
}
""",
        r"""std::vector<torch::Tensor> forward(torch::Tensor x, torch::Tensor y, torch::Tensor m) {
  auto ax = torch::empty_like(x), ay = torch::empty_like(y);
  int n = x.numel();
  forces<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), m.data_ptr<float>(),
      ax.data_ptr<float>(), ay.data_ptr<float>(), n);
  return {ax, ay};
}""",
        "x, y, m: [(m * (z - z[:, None]) * DISTANCE ** -1.5).sum(1) for z in (x, y)]".replace(
            "DISTANCE", "((x - x[:, None]).square() + (y - y[:, None]).square() + 1e-2)"
        ),
        drawn(x="case.n", y="case.n", m="case.n"),
        (1, 33, 130),
        4096,
    ),
    Specimen(
        "attention_three_kernels",
        r"""__global__ void scores(const float* q, const float* k, float* s, int n, int d) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < n && col < n) {
    float sum = 0;
    for (int i = 0; i < d; i++) sum += q[row * d + i] * k[col * d + i];
    s[row * n + col] = sum / sqrtf(d);
  }
}
__global__ void softmax_rows(float* s, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n) {
    float max_val = -1e20f;
    for (int i = 0; i < n; i++) max_val = max(max_val, s[row * n + i]);
    float sum = 0;
    for (int i = 0; i < n; i++) {
      s[row * n + i] = exp(s[row * n + i] - max_val);
      sum += s[row * n + i];
    }
    for (int i = 0; i < n; i++) s[row * n + i] /= sum;
  }
}
__global__ void weighted(const float* s, const float* v, float* o, int n, int d) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < n && col < d) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += s[row * n + i] * v[i * d + col];
    o[row * d + col] = sum;
  }
}
""",
        r"""torch::Tensor forward(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  int n = q.size(0), d = q.size(1);
  auto s = torch::empty({n, n}, q.options());
  auto o = torch::empty({n, d}, q.options());
  dim3 block(16, 16);
  dim3 grid1((n + 15) / 16, (n + 15) / 16);
  scores<<<grid1, block>>>(q.data_ptr<float>(), k.data_ptr<float>(), s.data_ptr<float>(), n, d);
  softmax_rows<<<(n + 255) / 256, 256>>>(s.data_ptr<float>(), n);
  dim3 grid2((n + 15) / 16, (d + 15) / 16);
  weighted<<<grid2, block>>>(s.data_ptr<float>(), v.data_ptr<float>(), o.data_ptr<float>(), n, d);
  return o;
}""",
        "q, k, v: torch.softmax(q @ k.t() / q.shape[1] ** 0.5, 1) @ v",
        drawn(q="case.n, 64", k="case.n, 64", v="case.n, 64"),
        (1, 5, 33),
        512,
    ),
    Specimen(
        "conv_constant_memory",
        r"""#define FILTER_RADIUS 4
#define FILTER_SIZE (2 * FILTER_RADIUS + 1)
__constant__ float F_c[FILTER_SIZE * FILTER_SIZE];
__global__ void convolution_2D_const_mem_kernel(const float *N, float *P, int r, int width, int height) {
  int outCol = blockIdx.x * blockDim.x + threadIdx.x;
  int outRow = blockIdx.y * blockDim.y + threadIdx.y;
  if (outCol >= width || outRow >= height) return;
  float Pvalue = 0.0f;
  for (int fRow = 0; fRow < 2 * r + 1; fRow++) {
    for (int fCol = 0; fCol < 2 * r + 1; fCol++) {
      int inRow = outRow - r + fRow;
      int inCol = outCol - r + fCol;
      if (inRow >= 0 && inRow < height && inCol >= 0 && inCol < width) {
        Pvalue += F_c[fRow * FILTER_SIZE + fCol] * N[inRow * width + inCol];
      }
    }
  }
  P[outRow * width + outCol] = Pvalue;
}
""",
        r"""torch::Tensor forward(torch::Tensor x, torch::Tensor f) {
  x = x.contiguous(); f = f.contiguous();
  auto y = torch::empty_like(x);
  int h = x.size(0), w = x.size(1);
  cudaMemcpyToSymbolAsync(F_c, f.data_ptr<float>(), FILTER_SIZE * FILTER_SIZE * sizeof(float), 0,
      cudaMemcpyDeviceToDevice);
  dim3 b(32, 32), g((w + b.x - 1) / b.x, (h + b.y - 1) / b.y);
  convolution_2D_const_mem_kernel<<<g, b>>>(x.data_ptr<float>(), y.data_ptr<float>(), FILTER_RADIUS, w, h);
  return y;
}""",
        "x, f: torch.nn.functional.conv2d(x[None, None], f[None, None], padding=4)[0, 0]",
        drawn(x="case.n, case.n", f="9, 9"),
        (1, 5, 33),
        1024,
    ),
    Specimen(
        "box_filter",
        r"""__global__ void box_filter(const float* in, float* out, int width, int height, int radius) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    int count = 0;
    for (int dy = -radius; dy <= radius; dy++) {
        for (int dx = -radius; dx <= radius; dx++) {
            int nx = x + dx;
            int ny = y + dy;
            if (nx >= 0 && nx < width && ny >= 0 && ny < height) {
                sum += in[ny * width + nx];
                count++;
            }
        }
    }
    out[y * width + x] = sum / count;
}
""",
        r"""torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int h = x.size(0), w = x.size(1);
    dim3 block(16, 16);
    dim3 grid((w + block.x - 1) / block.x, (h + block.y - 1) / block.y);
    box_filter<<<grid, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), w, h, 3);
    return y;
}""",
        "x: torch.nn.functional.avg_pool2d(x[None, None], 7, 1, 3, count_include_pad=False)[0, 0]",
        drawn(x="case.n, case.n"),
        (1, 5, 33),
        1024,
    ),
    Specimen(
        "row_sum_one_thread_of_block",
        r"""__global__ void row_mean(const float* x, float* y, int cols) {
    int row = blockIdx.x;
    if (threadIdx.x == 0) {
        float s = 0.f;
        for (int c = 0; c < cols; ++c) s += x[row * cols + c];
        y[row] = s / cols;
    }
}
""",
        r"""torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    row_mean<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}""",
        "x: x.mean(1)",
        drawn(x="2 * case.n, case.n"),
        (1, 5, 33),
        1024,
    ),
)
