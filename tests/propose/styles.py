"""The same few computations in styles that people publish, none of them from a suite: macros, templates, dispatch,
helper functions, loops in strides of the grid, pointers that walk, one thread per row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.propose.corpus import Specimen, one, two

from evoengineer.problem.model import Case


def batches(case: Case, generator: Any) -> Mapping[str, Any]:
    return {"a": generator.values(3, case.n, case.n), "b": generator.values(3, case.n, case.n)}


def convolution(case: Case, generator: Any) -> Mapping[str, Any]:
    return {
        "x": generator.values(2, 4, case.n, case.n),
        "w": generator.values(8, 4, 3, 3),
        "b": generator.values(8),
    }


def rows(case: Case, generator: Any) -> Mapping[str, Any]:
    return {"a": generator.values(2 * case.n, case.n)}


def scaled_rows(case: Case, generator: Any) -> Mapping[str, Any]:
    return {
        "x": generator.values(2 * case.n, case.n),
        "w": generator.values(case.n),
        "b": generator.values(case.n),
    }


STYLES = (
    Specimen(
        "macros",
        r"""#define BLOCK 16
#define IDX2(r, c, ld) ((r) * (ld) + (c))
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
__global__ void sgemm_naive(int M, int N, int K, const float *A, const float *B, float *C) {
  const uint x = blockIdx.x * blockDim.x + threadIdx.x;
  const uint y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < M && y < N) {
    float tmp = 0.0;
    for (int i = 0; i < K; ++i) {
      tmp += A[IDX2(x, i, K)] * B[IDX2(i, y, N)];
    }
    C[IDX2(x, y, N)] = tmp;
  }
}""",
        r"""torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  a = a.contiguous(); b = b.contiguous();
  const int M = a.size(0), K = a.size(1), N = b.size(1);
  auto c = torch::zeros({M, N}, a.options());
  dim3 gridDim(CEIL_DIV(M, BLOCK), CEIL_DIV(N, BLOCK), 1);
  dim3 blockDim(BLOCK, BLOCK, 1);
  sgemm_naive<<<gridDim, blockDim>>>(M, N, K, a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>());
  return c;
}""",
        "a, b: a @ b",
        two,
        (1, 5, 33),
        128,
    ),
    Specimen(
        "template_and_dispatch",
        r"""template <typename scalar_t>
__global__ void matmul_kernel(const scalar_t* __restrict__ A, const scalar_t* __restrict__ B,
        scalar_t* __restrict__ C,
                              const int64_t M, const int64_t N, const int64_t K) {
    const int64_t row = blockIdx.y * blockDim.y + threadIdx.y;
    const int64_t col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) { return; }
    scalar_t value = 0;
    for (int64_t k = 0; k < K; k++) {
        value += A[row * K + k] * B[k * N + col];
    }
    C[row * N + col] = value;
}""",
        r"""torch::Tensor forward(torch::Tensor A, torch::Tensor B) {
    A = A.contiguous(); B = B.contiguous();
    const auto M = A.size(0);
    const auto K = A.size(1);
    const auto N = B.size(1);
    auto C = torch::empty({M, N}, A.options());
    const dim3 threads(16, 16);
    const dim3 blocks((N + threads.x - 1) / threads.x, (M + threads.y - 1) / threads.y);
    AT_DISPATCH_FLOATING_TYPES(A.scalar_type(), "matmul_cuda", ([&] {
        matmul_kernel<scalar_t><<<blocks, threads>>>(A.data_ptr<scalar_t>(), B.data_ptr<scalar_t>(),
                C.data_ptr<scalar_t>(), M, N, K);
    }));
    return C;
}""",
        "a, b: a @ b",
        two,
        (1, 5, 33),
        128,
    ),
    Specimen(
        "grid_stride",
        r"""__global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k) {
    for (int idx = blockIdx.x * blockDim.x + threadIdx.x; idx < m * n; idx += blockDim.x * gridDim.x) {
        int i = idx / n;
        int j = idx % n;
        float s = 0.f;
        for (int p = 0; p < k; p++) s += a[i * k + p] * b[p * n + j];
        c[idx] = s;
    }
}""",
        r"""torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous(); b = b.contiguous();
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    int threads = 256;
    int blocks = std::min((m * n + threads - 1) / threads, 65535);
    gemm<<<blocks, threads>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, n, k);
    return c;
}""",
        "a, b: a @ b",
        two,
        (1, 5, 33),
        128,
    ),
    Specimen(
        "helper_with_ldg",
        r"""__device__ __forceinline__ float fetch(const float* __restrict__ p, int r, int c, int ld) {
                return __ldg(&p[r * ld + c]); }
extern "C" __global__ void __launch_bounds__(256) gemm(const float* __restrict__ a, const float* __restrict__ b,
        float* __restrict__ c, int n) {
    const unsigned int col = threadIdx.x + blockIdx.x * blockDim.x;
    const unsigned int row = threadIdx.y + blockIdx.y * blockDim.y;
    if (row < n) {
        if (col < n) {
            float acc = 0.0f;
            #pragma unroll 4
            for (int k = 0; k < n; ++k)
                acc = fmaf(fetch(a, row, k, n), fetch(b, k, col, n), acc);
            c[row * n + col] = acc;
        }
    }
}""",
        r"""torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous(); b = b.contiguous();
    const int n = a.size(0);
    torch::Tensor c = torch::empty_like(a);
    gemm<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a.data_ptr<float>(), b.data_ptr<float>(),
            c.data_ptr<float>(), n);
    return c;
}""",
        "a, b: a @ b",
        two,
        (1, 5, 33),
        128,
    ),
    Specimen(
        "walking_pointers",
        r"""namespace {
__global__ void mm(float* out, const float* lhs, const float* rhs, size_t n) {
    size_t r = blockIdx.y * size_t(blockDim.y) + threadIdx.y, c = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (!(r < n && c < n)) return;
    const float* p = lhs + r * n;
    const float* q = rhs + c;
    float total = 0;
    for (size_t i = 0; i < n; ++i) { total += *p * *q; p++; q += n; }
    out[r * n + c] = total;
}
void launch(const torch::Tensor& a, const torch::Tensor& b, torch::Tensor& c) {
    const auto n = static_cast<size_t>(a.size(0));
    const dim3 b2(16, 16);
    const dim3 g2((n + b2.x - 1) / b2.x, (n + b2.y - 1) / b2.y);
    mm<<<g2, b2>>>(c.data_ptr<float>(), a.data_ptr<float>(), b.data_ptr<float>(), n);
}
}""",
        r"""torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    auto x = a.contiguous(), y = b.contiguous();
    auto c = torch::empty_like(x);
    launch(x, y, c);
    return c;
}""",
        "a, b: a @ b",
        two,
        (1, 5, 33),
        128,
    ),
    Specimen(
        "while_and_numbers",
        r"""constexpr int TS = 32;
template <int BM, int BN>
__global__ void product(const float* x, const float* y, float* z, int rows, int cols, int inner) {
    int i = blockIdx.y * BM + threadIdx.y;
    int j = blockIdx.x * BN + threadIdx.x;
    if (i < rows && j < cols) {
        float sum{0.f};
        int t = 0;
        while (t < inner) { sum += x[i * inner + t] * y[t * cols + j]; ++t; }
        z[i * cols + j] = sum;
    }
}""",
        r"""torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
    x = x.contiguous(); y = y.contiguous();
    int rows = x.size(0), inner = x.size(1), cols = y.size(1);
    auto z = torch::empty({rows, cols}, x.options());
    product<16, 16><<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(x.data_ptr<float>(),
            y.data_ptr<float>(), z.data_ptr<float>(), rows, cols, inner);
    return z;
}""",
        "a, b: a @ b",
        two,
        (1, 5, 33),
        128,
    ),
    Specimen(
        "names_of_positions",
        r"""#define TILE 16
__global__ void MatrixMulKernel(float* d_M, float* d_N, float* d_P, int Width) {
    int bx = blockIdx.x; int by = blockIdx.y;
    int tx = threadIdx.x; int ty = threadIdx.y;
    int Row = by * TILE + ty;
    int Col = bx * TILE + tx;
    if ((Row < Width) && (Col < Width)) {
        float Pvalue = 0;
        for (int k = 0; k < Width; ++k) { Pvalue = Pvalue + d_M[Row * Width + k] * d_N[k * Width + Col]; }
        d_P[Row * Width + Col] = Pvalue;
    }
}""",
        r"""torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous(); b = b.contiguous();
    int n = a.size(0);
    auto c = torch::zeros_like(a);
    dim3 dimBlock(TILE, TILE, 1);
    dim3 dimGrid((int)ceil(n / (float)TILE), (int)ceil(n / (float)TILE), 1);
    MatrixMulKernel<<<dimGrid, dimBlock>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
    return c;
}""",
        "a, b: a @ b",
        two,
        (1, 5, 33),
        128,
    ),
    Specimen(
        "sum_in_memory",
        r"""__global__ void mul(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                int M, int N, int K) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int row = idx / N;
    int col = idx % N;
    if (row < M && col < N) {
        C[row * N + col] = 0.0f;
        for (int k = 0; k < K; k++) {
            C[row * N + col] += A[row * K + k] * B[k * N + col];
        }
    }
}""",
        r"""torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    auto A = a.contiguous(); auto B = b.contiguous();
    int M = A.size(0), K = A.size(1), N = B.size(1);
    auto C = torch::empty({M, N}, A.options());
    mul<<<(M * N + 255) / 256, 256>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, N, K);
    return C;
}""",
        "a, b: a @ b",
        two,
        (1, 5, 33),
        128,
    ),
    Specimen(
        "dot_function",
        r"""__device__ float dot(const float* a, const float* b, int n, int stride) {
    float s = 0.f;
    for (int i = 0; i < n; ++i) s += a[i] * b[i * stride];
    return s;
}
__global__ void product(const float* x, const float* y, float* z, int n) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= n || c >= n) return;
    z[r * n + c] = dot(x + r * n, y + c, n, n);
}""",
        r"""torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous(); b = b.contiguous();
    int n = a.size(0);
    auto c = torch::empty({n, n}, a.options());
    dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
    product<<<grid, block>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
    return c;
}""",
        "a, b: a @ b",
        two,
        (1, 5, 33),
        128,
    ),
    Specimen(
        "batched_auto",
        r"""#include <ATen/cuda/CUDAContext.h>
template <typename scalar_t>
__global__ void bmm_kernel(scalar_t const* __restrict__ a, scalar_t const* __restrict__ b,
        scalar_t* __restrict__ c, int const m, int const n, int const k) {
    auto const batch = blockIdx.z;
    auto const i = blockIdx.y * blockDim.y + threadIdx.y;
    auto const j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m || j >= n) return;
    a += batch * m * k; b += batch * k * n; c += batch * m * n;
    scalar_t acc = scalar_t(0);
    for (auto p = 0; p < k; ++p) { acc += a[i * k + p] * b[p * n + j]; }
    c[i * n + j] = acc;
}""",
        r"""torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(a.is_cuda(), "a must be CUDA");
    a = a.contiguous(); b = b.contiguous();
    auto const B = a.size(0), m = a.size(1), k = a.size(2), n = b.size(2);
    auto c = torch::empty({B, m, n}, a.options());
    dim3 const block{16, 16, 1};
    dim3 const grid{static_cast<unsigned>((n + 15) / 16), static_cast<unsigned>((m + 15) / 16),
            static_cast<unsigned>(B)};
    auto stream = at::cuda::getCurrentCUDAStream();
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(a.scalar_type(), "bmm", [&] {
        bmm_kernel<scalar_t><<<grid, block, 0, stream>>>(a.data_ptr<scalar_t>(), b.data_ptr<scalar_t>(),
                c.data_ptr<scalar_t>(), m, n, k);
    });
    return c;
}""",
        "a, b: torch.bmm(a, b)",
        batches,
        (1, 5, 33),
        128,
    ),
    Specimen(
        "convolution_ternary",
        r"""__global__ void conv2d_kernel(const float* __restrict__ input, const float* __restrict__ weight,
                const float* __restrict__ bias, float* __restrict__ output,
    const int N, const int C, const int H, const int W, const int O, const int KH, const int KW, const int pad,
            const int stride, const int OH, const int OW) {
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    const int total = N * O * OH * OW;
    if (index >= total) return;
    const int ow = index % OW;
    const int oh = (index / OW) % OH;
    const int o = (index / (OW * OH)) % O;
    const int n = index / (OW * OH * O);
    float sum = bias[o];
    for (int c = 0; c < C; ++c)
        for (int kh = 0; kh < KH; ++kh)
            for (int kw = 0; kw < KW; ++kw) {
                const int ih = oh * stride - pad + kh;
                const int iw = ow * stride - pad + kw;
                const float v = (ih >= 0 && ih < H && iw >= 0 && iw < W)
                        ? input[((n * C + c) * H + ih) * W + iw] : 0.0f;
                sum += v * weight[((o * C + c) * KH + kh) * KW + kw];
            }
    output[index] = sum;
}""",
        r"""torch::Tensor forward(torch::Tensor input, torch::Tensor weight, torch::Tensor bias) {
    input = input.contiguous(); weight = weight.contiguous();
    const int N = input.size(0), C = input.size(1), H = input.size(2), W = input.size(3);
    const int O = weight.size(0), KH = weight.size(2), KW = weight.size(3);
    const int pad = 1, stride = 1;
    const int OH = (H + 2 * pad - KH) / stride + 1, OW = (W + 2 * pad - KW) / stride + 1;
    auto output = torch::empty({N, O, OH, OW}, input.options());
    const int threads = 256;
    const int blocks = (output.numel() + threads - 1) / threads;
    conv2d_kernel<<<blocks, threads>>>(input.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
            output.data_ptr<float>(), N, C, H, W, O, KH, KW, pad, stride, OH, OW);
    return output;
}""",
        "x, w, b: torch.nn.functional.conv2d(x, w, b, padding=1)",
        convolution,
        (1, 5, 33),
        128,
    ),
    Specimen(
        "convolution_loop_macro",
        r"""#define CUDA_KERNEL_LOOP(i, n) \
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)
__global__ void conv_fwd(const int nthreads, const float* bottom, const float* w, const float* b, float* top,
        int channels, int height, int width, int num_output, int ks, int pad) {
  CUDA_KERNEL_LOOP(index, nthreads) {
    const int pw = index % width;
    const int ph = (index / width) % height;
    const int oc = (index / width / height) % num_output;
    const int n = index / width / height / num_output;
    float aveval = b[oc];
    const float* const slice = bottom + n * channels * height * width;
    for (int c = 0; c < channels; ++c) {
      for (int i = 0; i < ks; ++i) {
        for (int j = 0; j < ks; ++j) {
          int h = ph - pad + i, q = pw - pad + j;
          if (h >= 0 && h < height && q >= 0 && q < width) {
            aveval += slice[(c * height + h) * width + q] * w[((oc * channels + c) * ks + i) * ks + j];
          }
        }
      }
    }
    top[index] = aveval;
  }
}""",
        r"""torch::Tensor forward(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
  x = x.contiguous(); w = w.contiguous();
  auto y = torch::empty({x.size(0), w.size(0), x.size(2), x.size(3)}, x.options());
  int count = y.numel();
  conv_fwd<<<(count + 511) / 512, 512>>>(count, x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
          y.data_ptr<float>(), (int)x.size(1), (int)x.size(2), (int)x.size(3), (int)w.size(0), (int)w.size(2), 1);
  return y;
}""",
        "x, w, b: torch.nn.functional.conv2d(x, w, b, padding=1)",
        convolution,
        (1, 5, 33),
        128,
    ),
    Specimen(
        "convolution_grid_of_three",
        r"""__global__ void conv(const float *x, const float *w, const float *b, float *y, int C, int H, int W,
                int M, int K) {
    int ow = blockIdx.x * blockDim.x + threadIdx.x;
    int oh = blockIdx.y * blockDim.y + threadIdx.y;
    int m = blockIdx.z % M, n = blockIdx.z / M;
    if (oh >= H || ow >= W) return;
    float acc = b[m];
    for (int c = 0; c < C; c++)
        for (int p = 0; p < K; p++)
            for (int q = 0; q < K; q++) {
                int ih = oh + p - K / 2, iw = ow + q - K / 2;
                if (ih < 0 || iw < 0 || ih >= H || iw >= W) continue;
                acc += x[n * (C * H * W) + c * (H * W) + ih * W + iw] * w[m * (C * K * K) + c * (K * K) + p * K + q];
            }
    y[n * (M * H * W) + m * (H * W) + oh * W + ow] = acc;
}""",
        r"""torch::Tensor forward(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    x = x.contiguous(); w = w.contiguous();
    int B = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), M = w.size(0), K = w.size(2);
    auto y = torch::empty({B, M, H, W}, x.options());
    dim3 block(16, 16);
    dim3 grid((W + 15) / 16, (H + 15) / 16, B * M);
    conv<<<grid, block>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), C, H,
            W, M, K);
    return y;
}""",
        "x, w, b: torch.nn.functional.conv2d(x, w, b, padding=1)",
        convolution,
        (1, 5, 33),
        128,
    ),
    Specimen(
        "convolution_pixels_in_line",
        r"""__global__ void conv2d(const float* __restrict__ x, const float* __restrict__ w,
                const float* __restrict__ bias, float* __restrict__ y, int C, int H, int W, int O, int K, int P) {
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    const int oc = blockIdx.y;
    const int n = blockIdx.z;
    if (p >= H * W) return;
    const int oy = p / W, ox = p % W;
    const float* xn = x + (size_t)n * C * H * W;
    float acc = bias[oc];
    for (int c = 0; c < C; ++c) {
        const float* xc = xn + c * H * W;
        for (int ky = 0; ky < K; ++ky) {
            const int iy = oy + ky - P;
            if (iy < 0 || iy >= H) continue;
            for (int kx = 0; kx < K; ++kx) {
                const int ix = ox + kx - P;
                if (ix < 0 || ix >= W) continue;
                acc += xc[iy * W + ix] * w[((oc * C + c) * K + ky) * K + kx];
            }
        }
    }
    y[((size_t)n * O + oc) * H * W + p] = acc;
}""",
        r"""torch::Tensor forward(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    x = x.contiguous(); w = w.contiguous();
    const int B = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), O = w.size(0), K = w.size(2);
    auto y = torch::empty({B, O, H, W}, x.options());
    const dim3 grid((H * W + 127) / 128, O, B);
    conv2d<<<grid, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), C, H,
            W, O, K, 1);
    return y;
}""",
        "x, w, b: torch.nn.functional.conv2d(x, w, b, padding=1)",
        convolution,
        (1, 5, 33),
        128,
    ),
    Specimen(
        "softmax_of_a_thread",
        r"""__global__ void softmax_forward(float* out, const float* inp, int N, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        const float* inp_row = inp + i * C;
        float* out_row = out + i * C;
        float maxval = -INFINITY;
        for (int j = 0; j < C; j++) {
            if (inp_row[j] > maxval) {
                maxval = inp_row[j];
            }
        }
        double sum = 0.0;
        for (int j = 0; j < C; j++) {
            out_row[j] = expf(inp_row[j] - maxval);
            sum += out_row[j];
        }
        for (int j = 0; j < C; j++) {
            out_row[j] /= (float)sum;
        }
    }
}""",
        r"""torch::Tensor forward(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int N = x.size(0), C = x.size(1);
    const int block_size = 128;
    softmax_forward<<<(N + block_size - 1) / block_size, block_size>>>(y.data_ptr<float>(), x.data_ptr<float>(), N,
            C);
    return y;
}""",
        "a: torch.softmax(a, 1)",
        rows,
        (1, 5, 33),
        128,
    ),
    Specimen(
        "layer_norm_of_a_thread",
        r"""__global__ void layernorm_forward_kernel1(float* out, const float* inp, const float* weight,
                const float* bias, int N, int C) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    float eps = 1e-5f;
    if (idx < N) {
        const float* x = inp + idx * C;
        float m = 0.0f;
        for (int i = 0; i < C; i++) {
            m += x[i];
        }
        m = m / C;
        float v = 0.0f;
        for (int i = 0; i < C; i++) {
            float xshift = x[i] - m;
            v += xshift * xshift;
        }
        v = v / C;
        float s = 1.0f / sqrtf(v + eps);
        float* out_idx = out + idx * C;
        for (int i = 0; i < C; i++) {
            float n = (s * (x[i] - m));
            float o = n * weight[i] + bias[i];
            out_idx[i] = o;
        }
    }
}""",
        r"""torch::Tensor forward(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int N = x.size(0), C = x.size(1);
    layernorm_forward_kernel1<<<(N + 127) / 128, 128>>>(y.data_ptr<float>(), x.data_ptr<float>(),
            w.data_ptr<float>(), b.data_ptr<float>(), N, C);
    return y;
}""",
        "x, w, b: torch.nn.functional.layer_norm(x, (x.shape[1],), w, b)",
        scaled_rows,
        (1, 5, 33),
        128,
    ),
    Specimen(
        "row_sum_of_a_thread",
        r"""__global__ void row_sum(const float* in, float* out, int rows, int cols) {
    int r = threadIdx.x + blockIdx.x * blockDim.x;
    if (r >= rows) return;
    float s = 0;
    for (int c = 0; c < cols; ++c) s += in[r * cols + c];
    out[r] = s;
}""",
        r"""torch::Tensor forward(torch::Tensor x) {
    x = x.contiguous();
    auto out = torch::empty({x.size(0)}, x.options());
    row_sum<<<(x.size(0) + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(0), x.size(1));
    return out;
}""",
        "a: a.sum(1)",
        rows,
        (1, 5, 33),
        128,
    ),
    Specimen(
        "transposition",
        r"""__global__ void transposeNaive(float *odata, const float *idata, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        odata[x * height + y] = idata[y * width + x];
}""",
        r"""torch::Tensor forward(torch::Tensor a) {
    a = a.contiguous();
    int h = a.size(0), w = a.size(1);
    auto out = torch::empty({w, h}, a.options());
    dim3 block(16, 16), grid((w + 15) / 16, (h + 15) / 16);
    transposeNaive<<<grid, block>>>(out.data_ptr<float>(), a.data_ptr<float>(), w, h);
    return out;
}""",
        "a: a.t().contiguous()",
        one,
        (1, 5, 33),
        128,
    ),
    Specimen(
        "accessors",
        r"""template <typename scalar_t>
__global__ void product(
    const torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> a,
    const torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> b,
    torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> c) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < c.size(0) && column < c.size(1)) {
    scalar_t sum = 0;
    for (int k = 0; k < a.size(1); ++k) sum += a[row][k] * b[k][column];
    c[row][column] = sum;
  }
}""",
        r"""torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  auto c = torch::empty({a.size(0), b.size(1)}, a.options());
  const dim3 threads(16, 16);
  const dim3 blocks((b.size(1) + 15) / 16, (a.size(0) + 15) / 16);
  AT_DISPATCH_FLOATING_TYPES(a.scalar_type(), "product", ([&] {
    product<scalar_t><<<blocks, threads>>>(
        a.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
        b.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
        c.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>());
  }));
  return c;
}""",
        "a, b: a @ b",
        two,
    ),
)
