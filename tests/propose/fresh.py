"""Kernels that were written after the rewriter, to see what it makes of them,
        and that taught it something: chains of
kernels, remainders of remainders, accessors with names, loops that store, windows that are cut at borders,
        blocks with
short rows, atomics behind a test, trees whose sum is added to memory,
        and grids that were made for one size of block.

`python -m benchmarks.rewriter --fresh --archive FILE` evolves them.
"""

from __future__ import annotations

from tests.propose.corpus import Specimen
from tests.propose.unseen import drawn

SIZES = (1, 5, 33)

FRESH = (
    Specimen(
        "permute_0213",
        r"""
__global__ void permute_bhsd(const float* src, float* dst, int B, int S, int H, int D) {
  // src: (B, S, H, D) -> dst: (B, H, D, S)
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (idx < B * S * H * D) {
    int b = idx / (S * H * D);
    int rest = idx % (S * H * D);
    int s = rest / (H * D);
    rest = rest % (H * D);
    int h = rest / D;
    int d = rest % D;
    dst[((b * H + h) * D + d) * S + s] = src[idx];
  }
}
""",
        r"""torch::Tensor forward(torch::Tensor src) {
  int B = src.size(0), S = src.size(1), H = src.size(2), D = src.size(3);
  auto dst = torch::empty({B, H, D, S}, src.options());
  int total = B * S * H * D;
  permute_bhsd<<<(total + 127) / 128, 128>>>(src.data_ptr<float>(), dst.data_ptr<float>(), B, S, H, D);
  return dst;
}""",
        "x: x.permute(0, 2, 3, 1).contiguous()",
        drawn(x="4, case.n, 8, 64"),
        SIZES,
        512,
    ),
    Specimen(
        "linear_accessor",
        r"""
template <typename scalar_t>
__global__ void linear_kernel(
    const torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> input,
    const torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> weight,
    const torch::PackedTensorAccessor32<scalar_t, 1, torch::RestrictPtrTraits> bias,
    torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> output) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  const int col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < input.size(0) && col < weight.size(0)) {
    scalar_t acc = bias[col];
    for (int k = 0; k < input.size(1); k++) acc += input[row][k] * weight[col][k];
    output[row][col] = acc > 0 ? acc : scalar_t(0);
  }
}
""",
        r"""torch::Tensor forward(torch::Tensor input, torch::Tensor weight, torch::Tensor bias) {
  auto output = torch::zeros({input.size(0), weight.size(0)}, input.options());
  const dim3 threads(16, 16);
  const dim3 blocks((input.size(0) + threads.x - 1) / threads.x, (weight.size(0) + threads.y - 1) / threads.y);
  AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "linear", ([&] {
    auto in_acc = input.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>();
    auto w_acc = weight.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>();
    linear_kernel<scalar_t><<<blocks, threads>>>(in_acc, w_acc,
        bias.packed_accessor32<scalar_t, 1, torch::RestrictPtrTraits>(), output.packed_accessor32<scalar_t,
        2, torch::RestrictPtrTraits>());
  }));
  return output;
}""",
        "input, weight, bias: torch.relu(input @ weight.T + bias)",
        drawn(input="case.n, case.n", weight="case.n, case.n", bias="case.n"),
        SIZES,
        512,
    ),
    Specimen(
        "triplet_loss_atomic",
        r"""
__global__ void triplet(const float* anchor, const float* pos, const float* neg, float* loss, int n, int d,
        float margin) {
  int tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid >= n) return;
  float dp = 0.f, dn = 0.f;
  for (int i = 0; i < d; i++) {
    float a = anchor[tid * d + i];
    dp += (a - pos[tid * d + i]) * (a - pos[tid * d + i]);
    dn += (a - neg[tid * d + i]) * (a - neg[tid * d + i]);
  }
  float l = sqrtf(dp) - sqrtf(dn) + margin;
  if (l > 0.f) atomicAdd(loss, l / n);
}
""",
        r"""torch::Tensor forward(torch::Tensor anchor, torch::Tensor pos, torch::Tensor neg) {
  int n = anchor.size(0), d = anchor.size(1);
  auto loss = torch::zeros({1}, anchor.options());
  triplet<<<(n + 255) / 256, 256>>>(anchor.data_ptr<float>(), pos.data_ptr<float>(), neg.data_ptr<float>(),
        loss.data_ptr<float>(), n, d, 1.0f);
  return loss;
}""",
        "a, p, n: torch.relu((a - p).square().sum(1).sqrt() - (a - n).square().sum(1).sqrt() + 1).mean().view(1)",
        drawn(a="8 * case.n, case.n", p="8 * case.n, case.n", n="8 * case.n, case.n"),
        SIZES,
        512,
    ),
    Specimen(
        "swish_chain",
        r"""
__global__ void add_bias(float* t, const float* x, const float* b, int rows, int cols) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (idx < rows * cols) t[idx] = x[idx] + b[idx % cols];
}
__global__ void sigmoid_k(float* s, const float* t, int n) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (idx < n) s[idx] = 1.0f / (1.0f + expf(-t[idx]));
}
__global__ void mul_k(float* y, const float* t, const float* s, int n) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (idx < n) y[idx] = t[idx] * s[idx];
}
""",
        r"""torch::Tensor forward(torch::Tensor x, torch::Tensor b) {
  int rows = x.size(0), cols = x.size(1);
  int n = rows * cols;
  auto t = torch::empty_like(x);
  auto s = torch::empty_like(x);
  auto y = torch::empty_like(x);
  int threads = 256, blocks = (n + threads - 1) / threads;
  add_bias<<<blocks, threads>>>(t.data_ptr<float>(), x.data_ptr<float>(), b.data_ptr<float>(), rows, cols);
  sigmoid_k<<<blocks, threads>>>(s.data_ptr<float>(), t.data_ptr<float>(), n);
  mul_k<<<blocks, threads>>>(y.data_ptr<float>(), t.data_ptr<float>(), s.data_ptr<float>(), n);
  return y;
}""",
        "x, b: torch.nn.functional.silu(x + b)",
        drawn(x="case.n, 2 * case.n", b="2 * case.n"),
        SIZES,
        1024,
    ),
    Specimen(
        "batch_norm_relu_pool",
        r"""
__global__ void bn_relu(const float* x, const float* mean, const float* var, const float* g, const float* b,
        float* y, int C, int S, int total) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < total) {
    int c = (i / S) % C;
    float v = (x[i] - mean[c]) / sqrtf(var[c] + 1e-5f) * g[c] + b[c];
    y[i] = v > 0.f ? v : 0.f;
  }
}
__global__ void avg_pool_global(const float* y, float* o, int NC, int S) {
  int nc = blockIdx.x * blockDim.x + threadIdx.x;
  if (nc < NC) {
    float a = 0.f;
    for (int s = 0; s < S; ++s) a += y[nc * S + s];
    o[nc] = a / S;
  }
}
""",
        r"""torch::Tensor forward(torch::Tensor x, torch::Tensor mean, torch::Tensor var, torch::Tensor g,
        torch::Tensor b) {
  int N = x.size(0), C = x.size(1), S = x.size(2) * x.size(3);
  auto y = torch::empty_like(x);
  auto o = torch::empty({N, C}, x.options());
  int total = x.numel();
  bn_relu<<<(total + 255) / 256, 256>>>(x.data_ptr<float>(), mean.data_ptr<float>(), var.data_ptr<float>(),
        g.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), C, S, total);
  avg_pool_global<<<(N * C + 127) / 128, 128>>>(y.data_ptr<float>(), o.data_ptr<float>(), N * C, S);
  return o;
}""",
        "x, mean, var, g, b: torch.relu(torch.nn.functional.batch_norm(x, mean, var, g, b)).mean((2, 3))",
        """def make_inputs(case, generator):
    return {"x": generator.values(8, 32, case.n, case.n), "mean": generator.values(32),
        "var": generator.values(32).abs() + 0.5, "g": generator.values(32), "b": generator.values(32)}
""",
        SIZES,
        64,
    ),
    Specimen(
        "batched_small",
        r"""
__global__ void bmm8(const float* A, const float* B, float* C, int batch) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b < batch) {
    const float* a = A + b * 64;
    const float* bb = B + b * 64;
    float* c = C + b * 64;
    for (int i = 0; i < 8; i++)
      for (int j = 0; j < 8; j++) {
        float sum = 0;
        for (int k = 0; k < 8; k++) sum += a[i * 8 + k] * bb[k * 8 + j];
        c[i * 8 + j] = sum;
      }
  }
}
""",
        r"""torch::Tensor forward(torch::Tensor A, torch::Tensor B) {
  auto C = torch::empty_like(A);
  int batch = A.size(0);
  bmm8<<<(batch + 127) / 128, 128>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), batch);
  return C;
}""",
        "A, B: A @ B",
        drawn(A="8 * case.n, 8, 8", B="8 * case.n, 8, 8"),
        SIZES,
        2048,
    ),
    Specimen(
        "bilinear_upsample",
        r"""
__global__ void upsample_bilinear2d(const float* in, float* out, int NC, int H, int W, int OH, int OW,
        float rh, float rw) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= OW || y >= OH) return;
  float fy = rh * y, fx = rw * x;
  int y0 = (int)fy, x0 = (int)fx;
  int y1 = y0 + (y0 < H - 1 ? 1 : 0), x1 = x0 + (x0 < W - 1 ? 1 : 0);
  float ly = fy - y0, lx = fx - x0;
  for (int c = 0; c < NC; c++) {
    const float* p = in + c * H * W;
    out[(c * OH + y) * OW + x] = (1 - ly) * ((1 - lx) * p[y0 * W + x0] + lx * p[y0 * W + x1])
                               + ly * ((1 - lx) * p[y1 * W + x0] + lx * p[y1 * W + x1]);
  }
}
""",
        r"""torch::Tensor forward(torch::Tensor in) {
  int N = in.size(0), C = in.size(1), H = in.size(2), W = in.size(3);
  int OH = 2 * H, OW = 2 * W;
  auto out = torch::empty({N, C, OH, OW}, in.options());
  float rh = (float)(H - 1) / (OH - 1), rw = (float)(W - 1) / (OW - 1);
  dim3 block(16, 16);
  dim3 grid((OW + block.x - 1) / block.x, (OH + block.y - 1) / block.y);
  upsample_bilinear2d<<<grid, block>>>(in.data_ptr<float>(), out.data_ptr<float>(), N * C, H, W, OH, OW, rh,
        rw);
  return out;
}""",
        'x: torch.nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)',
        drawn(x="2, 16, case.n, case.n"),
        (2, 5, 33),
        64,
    ),
    Specimen(
        "max_pool",
        r"""
__global__ void MaxPoolForward(const int nthreads, const float* bottom_data, const int channels,
        const int height, const int width,
    const int pooled_height, const int pooled_width, const int kernel, const int stride, const int pad,
        float* top_data) {
  for (int index = blockIdx.x * blockDim.x + threadIdx.x; index < nthreads; index += blockDim.x * gridDim.x) {
    const int pw = index % pooled_width;
    const int ph = (index / pooled_width) % pooled_height;
    const int c = (index / pooled_width / pooled_height) % channels;
    const int n = index / pooled_width / pooled_height / channels;
    int hstart = ph * stride - pad;
    int wstart = pw * stride - pad;
    const int hend = min(hstart + kernel, height);
    const int wend = min(wstart + kernel, width);
    hstart = max(hstart, 0);
    wstart = max(wstart, 0);
    float maxval = -FLT_MAX;
    const float* const bottom_slice = bottom_data + (n * channels + c) * height * width;
    for (int h = hstart; h < hend; ++h) {
      for (int w = wstart; w < wend; ++w) {
        if (bottom_slice[h * width + w] > maxval) {
          maxval = bottom_slice[h * width + w];
        }
      }
    }
    top_data[index] = maxval;
  }
}
""",
        r"""torch::Tensor forward(torch::Tensor x) {
  const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
  const int kernel = 5, stride = 1, pad = 2;
  const int PH = (H + 2 * pad - kernel) / stride + 1, PW = (W + 2 * pad - kernel) / stride + 1;
  auto y = torch::empty({N, C, PH, PW}, x.options());
  const int count = y.numel();
  MaxPoolForward<<<(count + 511) / 512, 512>>>(count, x.data_ptr<float>(), C, H, W, PH, PW, kernel, stride,
        pad, y.data_ptr<float>());
  return y;
}""",
        "x: torch.nn.functional.max_pool2d(x, 5, 1, 2)",
        drawn(x="2, 16, case.n, case.n"),
        (3, 5, 33),
        160,
    ),
    Specimen(
        "layer_norm_dynamic",
        r"""
template <typename scalar_t>
__global__ void layernorm_forward_kernel(const scalar_t* __restrict__ inp, const scalar_t* __restrict__ gamma,
    const scalar_t* __restrict__ beta, scalar_t* __restrict__ outp, const int hidden, const float eps) {
  extern __shared__ float smem[];
  __shared__ float s_mean, s_rstd;
  const int row = blockIdx.x, tid = threadIdx.x;
  const scalar_t* x = inp + (long)row * hidden;
  scalar_t* y = outp + (long)row * hidden;
  float sum = 0.f;
  for (int i = tid; i < hidden; i += blockDim.x) sum += (float)x[i];
  smem[tid] = sum;
  __syncthreads();
  for (int s = blockDim.x >> 1; s > 0; s >>= 1) {
    if (tid < s) smem[tid] += smem[tid + s];
    __syncthreads();
  }
  if (tid == 0) s_mean = smem[0] / hidden;
  __syncthreads();
  float sq = 0.f;
  for (int i = tid; i < hidden; i += blockDim.x) { float d = (float)x[i] - s_mean; sq += d * d; }
  smem[tid] = sq;
  __syncthreads();
  for (int s = blockDim.x >> 1; s > 0; s >>= 1) {
    if (tid < s) smem[tid] += smem[tid + s];
    __syncthreads();
  }
  if (tid == 0) s_rstd = rsqrtf(smem[0] / hidden + eps);
  __syncthreads();
  for (int i = tid; i < hidden; i += blockDim.x)
    y[i] = ((float)x[i] - s_mean) * s_rstd * (float)gamma[i] + (float)beta[i];
}
""",
        r"""torch::Tensor forward(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta) {
  auto out = torch::empty_like(x);
  const int hidden = x.size(-1);
  const int rows = x.numel() / hidden;
  const int threads = 128;
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "layernorm_forward", ([&] {
    layernorm_forward_kernel<scalar_t><<<rows, threads, threads * sizeof(float)>>>(
        x.data_ptr<scalar_t>(), gamma.data_ptr<scalar_t>(), beta.data_ptr<scalar_t>(),
        out.data_ptr<scalar_t>(), hidden, 1e-5f);
  }));
  return out;
}""",
        "x, gamma, beta: torch.nn.functional.layer_norm(x, (x.shape[-1],), gamma, beta)",
        drawn(x="case.n, 4 * case.n", gamma="4 * case.n", beta="4 * case.n"),
        (2, 5, 33),
        1024,
    ),
    Specimen(
        "gemv_tree",
        r"""
__global__ void gemv(const float *A, const float *x, float *y, int M, int N) {
  __shared__ float cache[256];
  int row = blockIdx.x;
  int tid = threadIdx.x;
  float temp = 0;
  while (tid < N) {
    temp += A[row * N + tid] * x[tid];
    tid += blockDim.x;
  }
  cache[threadIdx.x] = temp;
  __syncthreads();
  int i = blockDim.x / 2;
  while (i != 0) {
    if (threadIdx.x < i) cache[threadIdx.x] += cache[threadIdx.x + i];
    __syncthreads();
    i /= 2;
  }
  if (threadIdx.x == 0) y[row] = cache[0];
}
""",
        r"""torch::Tensor forward(torch::Tensor A, torch::Tensor x) {
  auto y = torch::empty({A.size(0)}, A.options());
  gemv<<<A.size(0), 256>>>(A.data_ptr<float>(), x.data_ptr<float>(), y.data_ptr<float>(), A.size(0), A.size(1));
  return y;
}""",
        "A, x: A @ x",
        drawn(A="8 * case.n, case.n", x="case.n"),
        SIZES,
        512,
    ),
    Specimen(
        "avg_pool1d_strided",
        r"""
__global__ void avg_pool1d_kernel(const float *input, float *output, int kernel_size, int stride, int padding,
                                  int input_length, int output_length, int batch_size, int in_channels) {
    const int o = threadIdx.x + blockIdx.x * blockDim.x;
    const int channel = blockIdx.y;
    const int batch = blockIdx.z;
    if (o >= output_length || channel >= in_channels || batch >= batch_size) return;
    float sum = 0.0f;
    for (int k = 0; k < kernel_size; ++k) {
        int pos_input = o * stride + k - padding;
        if (pos_input >= 0 && pos_input < input_length) {
            int input_idx = batch * in_channels * input_length + channel * input_length + pos_input;
            sum += input[input_idx];
        }
    }
    output[batch * in_channels * output_length + channel * output_length + o] = sum / kernel_size;
}
""",
        r"""torch::Tensor forward(torch::Tensor x) {
    int B = x.size(0), C = x.size(1), L = x.size(2), k = 16, s = 2, p = 4;
    int OL = (L + 2 * p - k) / s + 1;
    auto out = torch::empty({B, C, OL}, x.options());
    dim3 threads(64);
    dim3 blocks((OL + 63) / 64, C, B);
    avg_pool1d_kernel<<<blocks, threads>>>(x.data_ptr<float>(), out.data_ptr<float>(), k, s, p, L, OL, B, C);
    return out;
}""",
        "x: torch.nn.functional.avg_pool1d(x, 16, 2, 4)",
        drawn(x="4, 16, 16 * case.n"),
        SIZES,
        512,
    ),
    Specimen(
        "log_softmax_block",
        r"""
__inline__ __device__ float warpReduceMax(float v) {
  for (int o = 16; o > 0; o >>= 1)
    v = fmaxf(v,
        __shfl_xor_sync(0xffffffff, v, o)); return v; }
__inline__ __device__ float warpReduceSum(float v) {
  for (int o = 16; o > 0; o >>= 1)
    v += __shfl_xor_sync(0xffffffff, v, o); return v; }
__global__ void log_softmax_warp(const float* in, float* out, int rows, int cols) {
  int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  int lane = threadIdx.x % 32;
  if (row >= rows) return;
  const float* r = in + row * cols;
  float m = -INFINITY;
  for (int c = lane; c < cols; c += 32) m = fmaxf(m, r[c]);
  m = warpReduceMax(m);
  float s = 0;
  for (int c = lane; c < cols; c += 32) s += expf(r[c] - m);
  s = warpReduceSum(s);
  float lse = m + logf(s);
  for (int c = lane; c < cols; c += 32) out[row * cols + c] = r[c] - lse;
}
""",
        r"""torch::Tensor forward(torch::Tensor in) {
  int rows = in.size(0), cols = in.size(1);
  auto out = torch::empty_like(in);
  log_softmax_warp<<<(rows + 3) / 4, 128>>>(in.data_ptr<float>(), out.data_ptr<float>(), rows, cols);
  return out;
}""",
        "x: torch.log_softmax(x, 1)",
        drawn(x="case.n, 8 * case.n"),
        SIZES,
        512,
    ),
    Specimen(
        "mse_doubling",
        r"""
__global__ void mse(const float* a, const float* b, float* result, int n) {
  extern __shared__ float sdata[];
  unsigned int tid = threadIdx.x;
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = 0.f;
  if (i < n) { float d = a[i] - b[i]; v = d * d; }
  sdata[tid] = v;
  __syncthreads();
  for (unsigned int s = 1; s < blockDim.x; s *= 2) {
    if (tid % (2 * s) == 0) { sdata[tid] += sdata[tid + s]; }
    __syncthreads();
  }
  if (tid == 0) atomicAdd(result, sdata[0] / n);
}
""",
        r"""torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::zeros({1}, x.options());
  int n = x.numel();
  mse<<<(n + 255) / 256, 256, 256 * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>(),
        out.data_ptr<float>(), n);
  return out;
}""",
        "a, b: (a - b).square().mean().reshape(1)",
        drawn(a="case.n, case.n", b="case.n, case.n"),
        SIZES,
        1024,
    ),
)
