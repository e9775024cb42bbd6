// Products of square matrices of halves and of bytes by blocks of 32 x 32: a result per thread, through tiles of halves in
// shared memory, two halves at a time; bytes one by one, four at a time with dp4a, and four columns per thread. SIZE is the
// side, a multiple of 128.
#include <cuda_fp16.h>

#include <cstdint>

#include "common.h"

constexpr int kTile = 32;

__global__ void halves(const half* a, const half* b, half* c, int m, int n, int k) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= k) return;
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) sum += __half2float(a[row * n + i]) * __half2float(b[i * k + column]);
    c[row * k + column] = __float2half(sum);
}

__global__ void halves_tiles(const half* a, const half* b, half* c, int m, int n, int k) {
    __shared__ half tile_a[kTile][kTile], tile_b[kTile][kTile];
    const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < (n + kTile - 1) / kTile; ++i) {
        const int x = i * kTile + threadIdx.x, y = i * kTile + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < m && x < n ? a[row * n + x] : __float2half(0.0f);
        tile_b[threadIdx.y][threadIdx.x] = column < k && y < n ? b[y * k + column] : __float2half(0.0f);
        __syncthreads();
        for (int j = 0; j < kTile; ++j)
            sum += __half2float(tile_a[threadIdx.y][j]) * __half2float(tile_b[j][threadIdx.x]);
        __syncthreads();
    }
    if (row < m && column < k) c[row * k + column] = __float2half(sum);
}

__global__ void halves_pairs(const half* a, const half* b, half* c, int m, int n, int k) {
    const int row = blockIdx.y * kTile + threadIdx.y, column = (blockIdx.x * kTile + threadIdx.x) * 2;
    if (row >= m || column >= k) return;
    half2 sum = __float2half2_rn(0.0f);
    for (int i = 0; i < n; ++i) {
        const half2 both = __halves2half2(a[row * n + i], a[row * n + i]);
        sum = __hfma2(both, *reinterpret_cast<const half2*>(&b[i * k + column]), sum);
    }
    *reinterpret_cast<half2*>(&c[row * k + column]) = sum;
}

__global__ void bytes(const int8_t* a, const int8_t* b, int32_t* c, int m, int n, int k) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= k) return;
    int32_t sum = 0;
    for (int i = 0; i < n; ++i) sum += int32_t(a[row * n + i]) * int32_t(b[i * k + column]);
    c[row * k + column] = sum;
}

__device__ __forceinline__ int32_t packed(int32_t b0, int32_t b1, int32_t b2, int32_t b3) {
    return (b3 & 0xff) << 24 | (b2 & 0xff) << 16 | (b1 & 0xff) << 8 | (b0 & 0xff);
}

__global__ void bytes_dp4a(const int8_t* a, const int8_t* b, int32_t* c, int m, int n, int k) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= k) return;
    int32_t sum = 0;
    for (int i = 0; i < n; i += 4) {
        const int32_t four = *reinterpret_cast<const int32_t*>(&a[row * n + i]);
        sum = __dp4a(four, packed(b[i * k + column], b[(i + 1) * k + column], b[(i + 2) * k + column],
                                  b[(i + 3) * k + column]), sum);
    }
    c[row * k + column] = sum;
}

__global__ void bytes_columns(const int8_t* a, const int8_t* b, int32_t* c, int m, int n, int k) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (row >= m || column >= k) return;
    int32_t sums[4] = {};
    for (int i = 0; i < n; i += 4) {
        const int32_t four = *reinterpret_cast<const int32_t*>(&a[row * n + i]);
        int32_t rows[4];
#pragma unroll
        for (int r = 0; r < 4; ++r) rows[r] = *reinterpret_cast<const int32_t*>(&b[(i + r) * k + column]);
#pragma unroll
        for (int e = 0; e < 4; ++e)
            sums[e] = __dp4a(four, packed(rows[0] >> 8 * e, rows[1] >> 8 * e, rows[2] >> 8 * e, rows[3] >> 8 * e), sums[e]);
    }
    *reinterpret_cast<int4*>(&c[row * k + column]) = make_int4(sums[0], sums[1], sums[2], sums[3]);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1024}, {128});
    const int n = static_cast<int>(run.size(0));
    const size_t count = size_t(n) * n;
    chain::Array<half> ah(count), bh(count), ch(count);
    chain::Array<int8_t> ab(count), bb(count);
    chain::Array<int32_t> cb(count);
    std::vector<float> floats;
    std::vector<int32_t> integers;
    if (run.verify) {
        ah.fill([](size_t i) { return __float2half(chain::pattern(i, 1)); });
        bh.fill([](size_t i) { return __float2half(chain::pattern(i, 2)); });
        ab.fill([](size_t i) { return int8_t(100.0f * chain::pattern(i, 3)); });
        bb.fill([](size_t i) { return int8_t(100.0f * chain::pattern(i, 4)); });
        for (int row = 0; row < n; ++row)
            for (int column = 0; column < n; ++column) {
                float value = 0.0f;
                int32_t sum = 0;
                for (int j = 0; j < n; ++j) {
                    value += __half2float(ah.host[row * n + j]) * __half2float(bh.host[j * n + column]);
                    sum += int32_t(ab.host[row * n + j]) * bb.host[j * n + column];
                }
                floats.push_back(value);
                integers.push_back(sum);
            }
    }
    auto are_halves = [&] { return chain::close(ch, floats, 2e-2); };
    auto are_roughly = [&] { return chain::close(ch, floats, 1e-1); };  // it adds up in halves
    auto are_bytes = [&] { return cb.download() == integers; };
    auto prepare = [&] { if (run.verify) chain::poison(ch), chain::poison(cb); };
    const dim3 block(kTile, kTile);
    auto grid = [&](int each) { return dim3(chain::ceil_div(n, kTile * each), chain::ceil_div(n, kTile)); };
    run.variant("halves", [&] { halves<<<grid(1), block>>>(ah, bh, ch, n, n, n); }, are_halves, prepare);
    run.variant("halves_tiles", [&] { halves_tiles<<<grid(1), block>>>(ah, bh, ch, n, n, n); }, are_halves, prepare);
    run.variant("halves_pairs", [&] { halves_pairs<<<grid(2), block>>>(ah, bh, ch, n, n, n); }, are_roughly, prepare);
    run.variant("bytes", [&] { bytes<<<grid(1), block>>>(ab, bb, cb, n, n, n); }, are_bytes, prepare);
    run.variant("bytes_dp4a", [&] { bytes_dp4a<<<grid(1), block>>>(ab, bb, cb, n, n, n); }, are_bytes, prepare);
    run.variant("bytes_columns", [&] { bytes_columns<<<grid(4), block>>>(ab, bb, cb, n, n, n); }, are_bytes, prepare);
    return run.finish();
}
