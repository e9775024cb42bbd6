// Matrix product C = alpha A B + beta C of square fp32 matrices in steps from one thread per result to warp
// tiles. 32-bit indices, no guards beyond the first two steps: SIZE, the number of rows, is a multiple of 128.
#include "common.h"

// 1: lanes of a warp lie along a column of C.
__global__ void naive(int n, float alpha, const float* a, const float* b, float beta, float* c) {
    unsigned row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n) {
        float sum = 0.0f;
        for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
        c[row * n + column] = alpha * sum + beta * c[row * n + column];
    }
}

// 2: lanes of a warp lie along a row of C.
__global__ void coalesced(int n, float alpha, const float* a, const float* b, float beta, float* c) {
    int row = blockIdx.x * 32 + threadIdx.x / 32, column = blockIdx.y * 32 + threadIdx.x % 32;
    if (row < n && column < n) {
        float sum = 0.0f;
        for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
        c[row * n + column] = alpha * sum + beta * c[row * n + column];
    }
}

// 3: 32 x 32 tiles in shared memory.
__global__ void shared_tiles(int n, float alpha, const float* a, const float* b, float beta, float* c) {
    constexpr int kTile = 32;
    __shared__ float a_tile[kTile * kTile], b_tile[kTile * kTile];
    const unsigned row = threadIdx.x / kTile, column = threadIdx.x % kTile;
    a += blockIdx.x * kTile * n;
    b += blockIdx.y * kTile;
    c += blockIdx.x * kTile * n + blockIdx.y * kTile;
    float sum = 0.0f;
    for (int step = 0; step < n; step += kTile) {
        a_tile[row * kTile + column] = a[row * n + column];
        b_tile[row * kTile + column] = b[row * n + column];
        __syncthreads();
        a += kTile;
        b += kTile * n;
        for (int k = 0; k < kTile; ++k) sum += a_tile[row * kTile + k] * b_tile[k * kTile + column];
        __syncthreads();
    }
    c[row * n + column] = alpha * sum + beta * c[row * n + column];
}

// 4: 64 x 64 x 8 tiles, a column of 8 results per thread.
__global__ void tile_1d(int n, float alpha, const float* a, const float* b, float beta, float* c) {
    constexpr int kM = 64, kN = 64, kK = 8, kEach = 8;
    __shared__ float a_tile[kM * kK], b_tile[kK * kN];
    const unsigned column = threadIdx.x % kN, row = threadIdx.x / kN * kEach;
    a += blockIdx.y * kM * n;
    b += blockIdx.x * kN;
    c += blockIdx.y * kM * n + blockIdx.x * kN;
    const unsigned a_column = threadIdx.x % kK, a_row = threadIdx.x / kK;
    const unsigned b_column = threadIdx.x % kN, b_row = threadIdx.x / kN;
    float sums[kEach] = {};
    for (int step = 0; step < n; step += kK) {
        a_tile[a_row * kK + a_column] = a[a_row * n + a_column];
        b_tile[b_row * kN + b_column] = b[b_row * n + b_column];
        __syncthreads();
        a += kK;
        b += kK * n;
        for (int k = 0; k < kK; ++k) {
            float of_b = b_tile[k * kN + column];
            for (int i = 0; i < kEach; ++i) sums[i] += a_tile[(row + i) * kK + k] * of_b;
        }
        __syncthreads();
    }
    for (int i = 0; i < kEach; ++i)
        c[(row + i) * n + column] = alpha * sums[i] + beta * c[(row + i) * n + column];
}

// 5: 128 x 128 x 8 tiles, 8 x 8 results per thread.
__global__ void __launch_bounds__(256, 1)
    tile_2d(int n, float alpha, const float* a, const float* b, float beta, float* c) {
    constexpr int kM = 128, kN = 128, kK = 8, kEach = 8, kThreads = 256;
    __shared__ float a_tile[kM * kK], b_tile[kK * kN];
    const int column = threadIdx.x % (kN / kEach) * kEach, row = threadIdx.x / (kN / kEach) * kEach;
    a += blockIdx.y * kM * n;
    b += blockIdx.x * kN;
    c += blockIdx.y * kM * n + blockIdx.x * kN;
    const unsigned a_row = threadIdx.x / kK, a_column = threadIdx.x % kK;
    const unsigned b_row = threadIdx.x / kN, b_column = threadIdx.x % kN;
    float sums[kEach * kEach] = {}, of_a[kEach], of_b[kEach];
    for (int step = 0; step < n; step += kK) {
        for (int i = 0; i < kM; i += kThreads / kK)
            a_tile[(a_row + i) * kK + a_column] = a[(a_row + i) * n + a_column];
        for (int i = 0; i < kK; i += kThreads / kN)
            b_tile[(b_row + i) * kN + b_column] = b[(b_row + i) * n + b_column];
        __syncthreads();
        a += kK;
        b += kK * n;
        for (int k = 0; k < kK; ++k) {
            for (int i = 0; i < kEach; ++i) of_a[i] = a_tile[(row + i) * kK + k];
            for (int j = 0; j < kEach; ++j) of_b[j] = b_tile[k * kN + column + j];
            for (int i = 0; i < kEach; ++i)
                for (int j = 0; j < kEach; ++j) sums[i * kEach + j] += of_a[i] * of_b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < kEach; ++i)
        for (int j = 0; j < kEach; ++j)
            c[(row + i) * n + column + j] = alpha * sums[i * kEach + j] + beta * c[(row + i) * n + column + j];
}

// The same with tiles of 64 x 64 x 8, 64 threads, and blocks that run down C first.
__global__ void tile_2d_small(int n, float alpha, float* a, float* b, float beta, float* c) {
    constexpr int kM = 64, kN = 64, kK = 8, kEach = 8, kThreads = 64;
    __shared__ float a_tile[kM * kK], b_tile[kK * kN];
    const int tid = threadIdx.x, column = tid % (kN / kEach) * kEach, row = tid / (kN / kEach) * kEach;
    a += blockIdx.x * kM * n;
    b += blockIdx.y * kN;
    c += blockIdx.x * kM * n + blockIdx.y * kN;
    float sums[kEach * kEach] = {}, of_a[kEach], of_b[kEach];
    for (int step = 0; step < n; step += kK) {
        for (int i = 0; i < kM; i += kThreads / kK) a_tile[(tid / kK + i) * kK + tid % kK] = a[(tid / kK + i) * n + tid % kK];
        for (int i = 0; i < kK; i += kThreads / kN) b_tile[(tid / kN + i) * kN + tid % kN] = b[(tid / kN + i) * n + tid % kN];
        __syncthreads();
        for (int k = 0; k < kK; ++k) {
            for (int i = 0; i < kEach; ++i) of_a[i] = a_tile[(row + i) * kK + k];
            for (int j = 0; j < kEach; ++j) of_b[j] = b_tile[k * kN + column + j];
            for (int i = 0; i < kEach; ++i)
                for (int j = 0; j < kEach; ++j) sums[i * kEach + j] += of_a[i] * of_b[j];
        }
        __syncthreads();
        a += kK;
        b += kK * n;
    }
    for (int i = 0; i < kEach; ++i)
        for (int j = 0; j < kEach; ++j)
            c[(row + i) * n + column + j] = alpha * sums[i * kEach + j] + beta * c[(row + i) * n + column + j];
}

// Four neighbouring results of a row.
__device__ void store4(float* c, float alpha, const float* sums, float beta) {
    float4 old = *reinterpret_cast<float4*>(c);
    old.x = alpha * sums[0] + beta * old.x;
    old.y = alpha * sums[1] + beta * old.y;
    old.z = alpha * sums[2] + beta * old.z;
    old.w = alpha * sums[3] + beta * old.w;
    *reinterpret_cast<float4*>(c) = old;
}

// Loads tiles by 16 bytes; A ends up transposed.
template <int kM, int kN, int kK, int kThreads>
__device__ void load4(int n, const float* a, const float* b, float* a_tile, float* b_tile) {
    const unsigned a_row = threadIdx.x / (kK / 4), a_column = threadIdx.x % (kK / 4) * 4;
    const unsigned b_row = threadIdx.x / (kN / 4), b_column = threadIdx.x % (kN / 4) * 4;
    constexpr unsigned kStepA = kThreads * 4 / kK, kStepB = kThreads / (kN / 4);
    for (unsigned i = 0; i + kStepA <= kM; i += kStepA) {
        const float4 values = *reinterpret_cast<const float4*>(&a[(a_row + i) * n + a_column]);
        a_tile[(a_column + 0) * kM + a_row + i] = values.x;
        a_tile[(a_column + 1) * kM + a_row + i] = values.y;
        a_tile[(a_column + 2) * kM + a_row + i] = values.z;
        a_tile[(a_column + 3) * kM + a_row + i] = values.w;
    }
    for (unsigned i = 0; i + kStepB <= kK; i += kStepB)
        *reinterpret_cast<float4*>(&b_tile[(b_row + i) * kN + b_column]) =
            *reinterpret_cast<const float4*>(&b[(b_row + i) * n + b_column]);
}

// 6 (depth 8) and 9 (depth 16, the best of a search): 128 x 128 tiles, A transposed, 16-byte accesses.
template <int kK>
__global__ void __launch_bounds__(256) vectors(int n, float alpha, const float* a, const float* b, float beta, float* c) {
    constexpr int kM = 128, kN = 128, kEach = 8;
    __shared__ __align__(16) float a_tile[kM * kK], b_tile[kK * kN];
    const int column = threadIdx.x % (kN / kEach) * kEach, row = threadIdx.x / (kN / kEach) * kEach;
    a += blockIdx.y * kM * n;
    b += blockIdx.x * kN;
    c += blockIdx.y * kM * n + blockIdx.x * kN;
    float sums[kEach * kEach] = {}, of_a[kEach], of_b[kEach];
    for (int step = 0; step < n; step += kK) {
        load4<kM, kN, kK, 256>(n, a, b, a_tile, b_tile);
        __syncthreads();
        a += kK;
        b += kK * n;
        for (int k = 0; k < kK; ++k) {
            for (int i = 0; i < kEach; ++i) of_a[i] = a_tile[k * kM + row + i];
            for (int j = 0; j < kEach; ++j) of_b[j] = b_tile[k * kN + column + j];
            for (int i = 0; i < kEach; ++i)
                for (int j = 0; j < kEach; ++j) sums[i * kEach + j] += of_a[i] * of_b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < kEach; ++i)
        for (int j = 0; j < kEach; j += 4) store4(&c[(row + i) * n + column + j], alpha, &sums[i * kEach + j], beta);
}

// 10: 128 x 128 x 16 tiles, 4 warps of 64 x 64, each in 1 x 4 steps of 64 x 16 made of 8 x 4 results per thread.
__global__ void __launch_bounds__(128) warp_tiles(int n, float alpha, const float* a, const float* b, float beta, float* c) {
    constexpr int kM = 128, kN = 128, kK = 16, kWarpM = 64, kWarpN = 64, kStepsN = 4, kEachM = 8, kEachN = 4;
    constexpr int kStepsM = kWarpM * kWarpN / (32 * kEachM * kEachN * kStepsN);
    constexpr int kSubM = kWarpM / kStepsM, kSubN = kWarpN / kStepsN;
    __shared__ __align__(16) float a_tile[kM * kK], b_tile[kK * kN];
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned row = warp / (kN / kWarpN) * kWarpM + lane / (kSubN / kEachN) * kEachM;
    const unsigned column = warp % (kN / kWarpN) * kWarpN + lane % (kSubN / kEachN) * kEachN;
    a += blockIdx.y * kM * n;
    b += blockIdx.x * kN;
    c += blockIdx.y * kM * n + blockIdx.x * kN;
    float sums[kStepsM * kEachM * kStepsN * kEachN] = {}, of_a[kStepsM * kEachM], of_b[kStepsN * kEachN];
    for (int step = 0; step < n; step += kK) {
        load4<kM, kN, kK, 128>(n, a, b, a_tile, b_tile);
        __syncthreads();
        for (int k = 0; k < kK; ++k) {
            for (int s = 0; s < kStepsM; ++s)
                for (int i = 0; i < kEachM; ++i) of_a[s * kEachM + i] = a_tile[k * kM + row + s * kSubM + i];
            for (int s = 0; s < kStepsN; ++s)
                for (int j = 0; j < kEachN; ++j) of_b[s * kEachN + j] = b_tile[k * kN + column + s * kSubN + j];
            for (int i = 0; i < kStepsM * kEachM; ++i)
                for (int j = 0; j < kStepsN * kEachN; ++j) sums[i * kStepsN * kEachN + j] += of_a[i] * of_b[j];
        }
        a += kK;
        b += kK * n;
        __syncthreads();
    }
    for (int s = 0; s < kStepsM; ++s)
        for (int t = 0; t < kStepsN; ++t)
            for (int i = 0; i < kEachM; ++i)
                store4(&c[(row + s * kSubM + i) * n + column + t * kSubN], alpha,
                       &sums[(s * kEachM + i) * kStepsN * kEachN + t * kEachN], beta);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096}, {128});
    const int n = static_cast<int>(run.size(0));
    const size_t count = size_t(n) * n;
    chain::Array<float> a(count), b(count), c(count);
    const float alpha = 0.5f, beta = 3.0f;
    std::vector<float> expected(run.verify ? count : 0);
    if (run.verify) {
        a.fill([](size_t i) { return chain::pattern(i, 1); });
        b.fill([](size_t i) { return chain::pattern(i, 2); });
        c.fill([](size_t i) { return chain::pattern(i, 3); });
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) {
                double sum = 0.0;
                for (int k = 0; k < n; ++k) sum += double(a.host[i * n + k]) * b.host[k * n + j];
                expected[i * n + j] = static_cast<float>(alpha * sum + beta * c.host[i * n + j]);
            }
    }
    auto prepare = [&] { if (run.verify) c.upload(); };
    auto check = [&] { return chain::close(c, expected, 1e-4); };
    const dim3 by32(chain::ceil_div(n, 32), chain::ceil_div(n, 32)), by64(n / 64, n / 64), by128(n / 128, n / 128);

    run.variant("naive", [&] { naive<<<by32, dim3(32, 32)>>>(n, alpha, a, b, beta, c); }, check, prepare);
    run.variant("coalesced", [&] { coalesced<<<by32, 1024>>>(n, alpha, a, b, beta, c); }, check, prepare);
    run.variant("shared_tiles", [&] { shared_tiles<<<by32, 1024>>>(n, alpha, a, b, beta, c); }, check, prepare);
    run.variant("tile_1d", [&] { tile_1d<<<by64, 512>>>(n, alpha, a, b, beta, c); }, check, prepare);
    run.variant("tile_2d", [&] { tile_2d<<<by128, 256>>>(n, alpha, a, b, beta, c); }, check, prepare);
    run.variant("tile_2d_small", [&] { tile_2d_small<<<by64, 64>>>(n, alpha, a, b, beta, c); }, check, prepare);
    run.variant("vectors", [&] { vectors<8><<<by128, 256>>>(n, alpha, a, b, beta, c); }, check, prepare);
    run.variant("tuned", [&] { vectors<16><<<by128, 256>>>(n, alpha, a, b, beta, c); }, check, prepare);
    run.variant("warp_tiles", [&] { warp_tiles<<<by128, 128>>>(n, alpha, a, b, beta, c); }, check, prepare);
    return run.finish();
}
