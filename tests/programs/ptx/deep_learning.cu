// Kernels of neural networks: softmax, layer norm, fused attention (online softmax), embedding, cross entropy,
// max pooling and an Adam step.
#include "../check.h"

__device__ float block_reduce(float v, bool largest) {
    __shared__ float parts[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = (blockDim.x + 31) / 32;
    for (int s = 16; s; s >>= 1) { float o = __shfl_xor_sync(~0u, v, s); v = largest ? fmaxf(v, o) : v + o; }
    __syncthreads();
    if (lane == 0) parts[warp] = v;
    __syncthreads();
    v = parts[0];
    for (int w = 1; w < warps; w++) v = largest ? fmaxf(v, parts[w]) : v + parts[w];
    return v;
}

__global__ void softmax(const float* in, float* out, int columns) {
    const float* row = in + blockIdx.x * columns;
    float m = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) m = fmaxf(m, row[c]);
    m = block_reduce(m, true);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += expf(row[c] - m);
    sum = block_reduce(sum, false);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) out[blockIdx.x * columns + c] = expf(row[c] - m) / sum;
}

__global__ void layer_norm(const float* in, const float* gain, const float* bias, float* out, int columns) {
    const float* row = in + blockIdx.x * columns;
    float sum = 0, squares = 0;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += row[c];
    float mean = block_reduce(sum, false) / columns;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) squares += (row[c] - mean) * (row[c] - mean);
    float scale = rsqrtf(block_reduce(squares, false) / columns + 1e-5f);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) out[blockIdx.x * columns + c] = (row[c] - mean) * scale * gain[c] + bias[c];
}

// One query per thread, keys in tiles of 16, running maximum and sum; causal mask.
__global__ void attention(const float* Q, const float* K, const float* V, float* O, int n) {
    const int D = 16, TILE = 16;
    __shared__ float ks[TILE][D], vs[TILE][D];
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float q[D], o[D] = {}, m = -INFINITY, l = 0;
    for (int d = 0; d < D; d++) q[d] = row < n ? Q[row * D + d] * 0.25f : 0;
    for (int t = 0; t < n; t += TILE) {
        for (int i = threadIdx.x; i < TILE * D; i += blockDim.x) {
            bool inside = t + i / D < n;
            ks[i / D][i % D] = inside ? K[t * D + i] : 0, vs[i / D][i % D] = inside ? V[t * D + i] : 0;
        }
        __syncthreads();
        for (int j = 0; j < TILE && t + j < n; j++) {
            if (t + j > row) break;
            float s = 0;
            for (int d = 0; d < D; d++) s += q[d] * ks[j][d];
            float newer = fmaxf(m, s), keep = expf(m - newer), p = expf(s - newer);
            l = l * keep + p;
            for (int d = 0; d < D; d++) o[d] = o[d] * keep + p * vs[j][d];
            m = newer;
        }
        __syncthreads();
    }
    if (row < n) for (int d = 0; d < D; d++) O[row * D + d] = o[d] / l;
}

__global__ void cross_entropy(const float* logits, const int* labels, float* loss, float* gradient, int rows, int classes) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const float* x = logits + r * classes;
    float m = x[0], sum = 0;
    for (int c = 1; c < classes; c++) m = fmaxf(m, x[c]);
    for (int c = 0; c < classes; c++) sum += expf(x[c] - m);
    loss[r] = logf(sum) + m - x[labels[r]];
    for (int c = 0; c < classes; c++) gradient[r * classes + c] = (expf(x[c] - m) / sum - (c == labels[r])) / rows;
}

__global__ void adam(float* w, const float* g, float* m, float* v, int n, float rate, int step) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    m[i] = 0.9f * m[i] + 0.1f * g[i];
    v[i] = 0.999f * v[i] + 0.001f * g[i] * g[i];
    w[i] -= rate * (m[i] / (1 - powf(0.9f, step))) / (sqrtf(v[i] / (1 - powf(0.999f, step))) + 1e-8f);
}

int main() {
    Random random(68);
    const int rows = 9, columns = 150, n = 50, D = 16;
    auto draw = [&](size_t count, double low, double high) { std::vector<float> v(count); for (float& x : v) x = float(random.range(low, high)); return v; };
    auto x = draw(rows * columns, -4, 4), gain = draw(columns, 0.5, 2), bias = draw(columns, -1, 1);
    Buffer<float> dx(x), dg(gain), db(bias), soft(rows * columns), norm(rows * columns);
    softmax<<<rows, 64>>>(dx, soft, columns);
    layer_norm<<<rows, 96>>>(dx, dg, db, norm, columns);
    auto s = soft.host(), l = norm.host();
    for (int r = 0; r < rows; r++) {
        double sum = 0, mean = 0, variance = 0;
        for (int c = 0; c < columns; c++) sum += std::exp(double(x[r * columns + c])), mean += x[r * columns + c] / double(columns);
        for (int c = 0; c < columns; c++) variance += (x[r * columns + c] - mean) * (x[r * columns + c] - mean) / columns;
        for (int c = 0; c < columns; c++) {
            int i = r * columns + c;
            expect_near("softmax", i, std::exp(double(x[i])) / sum, s[i], 1e-5);
            expect_near("layer norm", i, (x[i] - mean) / std::sqrt(variance + 1e-5) * gain[c] + bias[c], l[i], 1e-5, 1e-5);
        }
    }

    auto q = draw(n * D, -2, 2), k = draw(n * D, -2, 2), v = draw(n * D, -2, 2);
    Buffer<float> dq(q), dk(k), dv(v), dout(n * D);
    attention<<<2, 32>>>(dq, dk, dv, dout, n);
    auto o = dout.host();
    for (int i = 0; i < n; i++) {
        std::vector<double> e(D);
        double sum = 0;
        for (int j = 0; j <= i; j++) {
            double dot = 0;
            for (int d = 0; d < D; d++) dot += double(q[i * D + d]) * k[j * D + d] * 0.25;
            sum += std::exp(dot);
            for (int d = 0; d < D; d++) e[d] += std::exp(dot) * v[j * D + d];
        }
        for (int d = 0; d < D; d++) expect_near("attention", i * D + d, e[d] / sum, o[i * D + d], 1e-4, 1e-5);
    }

    std::vector<int> labels(rows);
    for (int& label : labels) label = int(random.below(columns));
    Buffer<int> dl(labels);
    Buffer<float> loss(rows), gradient(rows * columns);
    cross_entropy<<<1, 16>>>(dx, dl, loss, gradient, rows, columns);
    auto hl = loss.host(), hg = gradient.host();
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int c = 0; c < columns; c++) sum += std::exp(double(x[r * columns + c]));
        expect_near("loss", r, std::log(sum) - x[r * columns + labels[r]], hl[r], 1e-5, 1e-5);
        for (int c = 0; c < columns; c++) expect_near("gradient", r * columns + c, (std::exp(double(x[r * columns + c])) / sum - (c == labels[r])) / rows, hg[r * columns + c], 1e-4, 1e-7);
    }

    auto w = draw(200, -1, 1), g = draw(200, -1, 1);
    Buffer<float> dw(w), dgrad(g), dm(200), dvar(200);
    std::vector<double> m(200), var(200), ew(w.begin(), w.end());
    for (int step = 1; step <= 3; step++) {
        adam<<<4, 50>>>(dw, dgrad, dm, dvar, 200, 0.01f, step);
        for (int i = 0; i < 200; i++) {
            m[i] = 0.9 * m[i] + 0.1 * g[i], var[i] = 0.999 * var[i] + 0.001 * g[i] * g[i];
            ew[i] -= 0.01 * (m[i] / (1 - std::pow(0.9, step))) / (std::sqrt(var[i] / (1 - std::pow(0.999, step))) + 1e-8);
        }
    }
    auto hw = dw.host();
    for (int i = 0; i < 200; i++) expect_near("adam", i, ew[i], hw[i], 1e-4, 1e-5);
    return passed();
}
