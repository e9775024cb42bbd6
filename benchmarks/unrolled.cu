// Unrolled register tiles of the kinds that models write, for translation.py.
#include <torch/extension.h>

// A product of any sizes: every load and store tests the edges of the matrices; the next tile is fetched while this one
// is multiplied.
__global__ void __launch_bounds__(256) product_edges(const float* a, const float* b, float* c, int m, int n, int k) {
    constexpr int kTile = 128, kDepth = 8;
    __shared__ float as[2][kDepth][kTile + 4], bs[2][kDepth][kTile + 4];
    const int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
    const int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
    float sum[8][8] = {}, pa[4], pb[4];
    auto fetch = [&](int k0) {
#pragma unroll
        for (int part = 0; part < 4; ++part) {
            int slot = tid + part * 256;
            int row = row0 + slot / kDepth, at = k0 + slot % kDepth;
            pa[part] = row < m && at < k ? a[row * k + at] : 0.0f;
            int line = k0 + slot / kTile, column = column0 + slot % kTile;
            pb[part] = line < k && column < n ? b[line * n + column] : 0.0f;
        }
    };
    auto keep = [&](int half) {
#pragma unroll
        for (int part = 0; part < 4; ++part) {
            int slot = tid + part * 256;
            as[half][slot % kDepth][slot / kDepth] = pa[part];
            bs[half][slot / kTile][slot % kTile] = pb[part];
        }
    };
    fetch(0);
    keep(0);
    __syncthreads();
    for (int k0 = 0, half = 0; k0 < k; k0 += kDepth, half ^= 1) {
        const bool more = k0 + kDepth < k;
        if (more) fetch(k0 + kDepth);
#pragma unroll
        for (int i = 0; i < kDepth; ++i) {
            float ra[8], rb[8];
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                ra[j] = as[half][i][ty * 8 + j];
                rb[j] = bs[half][i][tx + 16 * j];
            }
#pragma unroll
            for (int y = 0; y < 8; ++y)
#pragma unroll
                for (int x = 0; x < 8; ++x) sum[y][x] = fmaf(ra[y], rb[x], sum[y][x]);
        }
        if (more) keep(half ^ 1);
        __syncthreads();
    }
#pragma unroll
    for (int y = 0; y < 8; ++y)
#pragma unroll
        for (int x = 0; x < 8; ++x) {
            int row = row0 + ty * 8 + y, column = column0 + tx + 16 * x;
            if (row < m && column < n) c[row * n + column] = sum[y][x];
        }
}

// A 3 x 3 convolution: 32 x 8 pixels of eight filters in a block, four neighbouring pixels of them in a thread; staged
// images with their edges, weights from constant addresses of shared memory.
__global__ void __launch_bounds__(64) convolve(const float* x, const float* w, float* y, int channels, int height,
                                               int width) {
    constexpr int kRows = 8, kColumns = 32, kFilters = 8, kChunk = 4;
    __shared__ float in[kChunk][kRows + 2][kColumns + 4], taps[kChunk][9][kFilters];
    const int tid = threadIdx.x, quad = tid % 8, line = tid / 8;
    const int y0 = blockIdx.y * kRows, x0 = blockIdx.x * kColumns, f0 = blockIdx.z * kFilters;
    float sum[kFilters][4] = {};
    for (int c0 = 0; c0 < channels; c0 += kChunk) {
        for (int i = tid; i < kChunk * (kRows + 2) * (kColumns + 2); i += 64) {
            int at = i % (kColumns + 2), row = i / (kColumns + 2) % (kRows + 2), chunk = i / (kColumns + 2) / (kRows + 2);
            int yi = y0 + row - 1, xi = x0 + at - 1;
            bool inside = yi >= 0 && yi < height && xi >= 0 && xi < width;
            in[chunk][row][at] = inside ? x[((c0 + chunk) * height + yi) * width + xi] : 0.0f;
        }
        for (int i = tid; i < kChunk * 9 * kFilters; i += 64) {
            int filter = i % kFilters, tap = i / kFilters % 9, chunk = i / kFilters / 9;
            taps[chunk][tap][filter] = w[((f0 + filter) * channels + c0 + chunk) * 9 + tap];
        }
        __syncthreads();
#pragma unroll
        for (int chunk = 0; chunk < kChunk; ++chunk)
#pragma unroll
            for (int ky = 0; ky < 3; ++ky) {
                float row[6];
#pragma unroll
                for (int i = 0; i < 6; ++i) row[i] = in[chunk][line + ky][quad * 4 + i];
#pragma unroll
                for (int kx = 0; kx < 3; ++kx)
#pragma unroll
                    for (int f = 0; f < kFilters; ++f)
#pragma unroll
                        for (int p = 0; p < 4; ++p) sum[f][p] += row[kx + p] * taps[chunk][ky * 3 + kx][f];
            }
        __syncthreads();
    }
#pragma unroll
    for (int f = 0; f < kFilters; ++f)
#pragma unroll
        for (int p = 0; p < 4; ++p) {
            int row = y0 + line, column = x0 + quad * 4 + p;
            if (row < height && column < width) y[((f0 + f) * height + row) * width + column] = fmaxf(sum[f][p], 0.0f);
        }
}
