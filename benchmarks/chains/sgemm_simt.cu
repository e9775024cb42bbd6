// Matrix product C = A B of square fp32 matrices on CUDA cores, from a dot product per thread to vectorised warp
// tiles. SIZE is the number of rows, a multiple of 128.
#include "common.h"

// v1: one row times one column.
__global__ void dot_product(const float* a, const float* b, float* c, int m, int n, int k) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

// v2: 32 x 32 tiles in shared memory.
__global__ void block_tiles(const float* a, const float* b, float* c, int m, int n, int k) {
    constexpr int kTile = 32;
    __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile];
    const int x = threadIdx.x, y = threadIdx.y, row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
    a += row0 * k;
    b += column0;
    c += row0 * n + column0;
    float sum = 0.0f;
    for (int step = 0; step < k; step += kTile) {
        a_tile[y][x] = y < m - row0 && x < k - step ? a[y * k + x] : 0.0f;
        b_tile[y][x] = y < k - step && x < n - column0 ? b[y * n + x] : 0.0f;
        __syncthreads();
        for (int i = 0; i < kTile; ++i) sum += a_tile[y][i] * b_tile[i][x];
        __syncthreads();
        a += kTile;
        b += kTile * n;
    }
    if (y < m - row0 && x < n - column0) c[y * n + x] = sum;
}

template <int kThreads, int kHeight, int kWidth>
__device__ void load_guarded(const float* from, int pitch, int rows, int columns, float (*to)[kWidth], int tid) {
    for (int i = tid; i < kHeight * kWidth; i += kThreads) {
        const int row = i / kWidth, column = i % kWidth;
        to[row][column] = row < rows && column < columns ? from[row * pitch + column] : 0.0f;
    }
}

// v3: 128 x 128 x 32 tiles, 64 results per thread, spread over the tile.
__global__ void coarse(const float* a, const float* b, float* c, int m, int n, int k) {
    constexpr int kM = 128, kN = 128, kK = 32, kThreads = 256;
    __shared__ float a_tile[kM][kK], b_tile[kK][kN];
    const int tid = threadIdx.x, across = (n + kN - 1) / kN;
    const int row0 = blockIdx.x / across * kM, column0 = blockIdx.x % across * kN;
    a += row0 * k;
    b += column0;
    c += row0 * n + column0;
    float sums[kM * kN / kThreads] = {};
    for (int step = 0; step < k; step += kK) {
        load_guarded<kThreads, kM, kK>(a, k, m - row0, k - step, a_tile, tid);
        load_guarded<kThreads, kK, kN>(b, n, k - step, n - column0, b_tile, tid);
        __syncthreads();
        for (int i = tid; i < kM * kN; i += kThreads) {
            const int row = i / kN, column = i % kN;
            for (int d = 0; d < kK; ++d) sums[i / kThreads] += a_tile[row][d] * b_tile[d][column];
        }
        __syncthreads();
        a += kK;
        b += kK * n;
    }
    for (int i = tid; i < kM * kN; i += kThreads) {
        const int row = i / kN, column = i % kN;
        if (row < m - row0 && column < n - column0) c[row * n + column] = sums[i / kThreads];
    }
}

// v4 and v5: kEachM x kEachN results at a time in registers. A warp covers kWarpM x kWarpN in steps of kStepM x
// kStepN; v4 is the case of one step whose warp spans the whole width of the block's tile.
template <int kM, int kN, int kK, int kWarpM, int kWarpN, int kStepM, int kStepN, int kEachN>
__global__ void register_tiles(const float* a, const float* b, float* c, int m, int n, int k) {
    constexpr int kThreads = kM * kN / (kWarpM * kWarpN) * 32, kEachM = kStepM * kStepN / (32 * kEachN);
    constexpr int kDown = kWarpM / kStepM, kAcross = kWarpN / kStepN;
    __shared__ float a_tile[kM][kK], b_tile[kK][kN];
    const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32, blocks = (n + kN - 1) / kN;
    const int row0 = blockIdx.x / blocks * kM, column0 = blockIdx.x % blocks * kN;
    const int row = warp / (kN / kWarpN) * kWarpM + lane / (kStepN / kEachN) * kEachM;
    const int column = warp % (kN / kWarpN) * kWarpN + lane % (kStepN / kEachN) * kEachN;
    a += row0 * k;
    b += column0;
    float sums[kDown][kAcross][kEachM][kEachN] = {};
    const float *of_a = &a_tile[0][0] + row * kK, *of_b = &b_tile[0][0] + column;
    for (int step = 0; step < k; step += kK) {
        load_guarded<kThreads, kM, kK>(a, k, m - row0, k - step, a_tile, tid);
        load_guarded<kThreads, kK, kN>(b, n, k - step, n - column0, b_tile, tid);
        __syncthreads();
        for (int d = 0; d < kK; ++d) {
            float a_values[kDown][kEachM], b_values[kAcross][kEachN];
            for (int s = 0; s < kDown; ++s)
                for (int i = 0; i < kEachM; ++i) a_values[s][i] = of_a[(s * kStepM + i) * kK + d];
            for (int t = 0; t < kAcross; ++t)
                for (int j = 0; j < kEachN; ++j) b_values[t][j] = of_b[d * kN + t * kStepN + j];
            for (int s = 0; s < kDown; ++s)
                for (int t = 0; t < kAcross; ++t)
                    for (int i = 0; i < kEachM; ++i)
                        for (int j = 0; j < kEachN; ++j) sums[s][t][i][j] += a_values[s][i] * b_values[t][j];
        }
        __syncthreads();
        a += kK;
        b += kK * n;
    }
    for (int s = 0; s < kDown; ++s)
        for (int t = 0; t < kAcross; ++t)
            for (int i = 0; i < kEachM; ++i)
                for (int j = 0; j < kEachN; ++j) {
                    const int y = row0 + row + s * kStepM + i, x = column0 + column + t * kStepN + j;
                    if (y < m && x < n) c[y * n + x] = sums[s][t][i][j];
                }
}

template <int kThreads, int kHeight, int kWidth, bool kTransposed>
__device__ void load_vectors(const float* from, int pitch, float* to, int tid) {
    for (int first = 0; first < kHeight * kWidth; first += kThreads * 4) {
        const int i = first + tid * 4, row = i / kWidth, column = i % kWidth;
        const float4 values = *reinterpret_cast<const float4*>(&from[row * pitch + column]);
        if (kTransposed) {
            to[(column + 0) * kHeight + row] = values.x;
            to[(column + 1) * kHeight + row] = values.y;
            to[(column + 2) * kHeight + row] = values.z;
            to[(column + 3) * kHeight + row] = values.w;
        } else {
            *reinterpret_cast<float4*>(&to[row * kWidth + column]) = values;
        }
    }
}

// v6: no guards, 16-byte accesses; v6b keeps A transposed in shared memory.
template <int kM, int kN, int kK, int kWarpM, int kWarpN, int kStepM, int kStepN, bool kTransposed>
__global__ void vector_tiles(const float* a, const float* b, float* c, int m, int n, int k) {
    constexpr int kEachN = 4, kEachM = kStepM * kStepN / (32 * kEachN);
    constexpr int kThreads = kM * kN / (kWarpM * kWarpN) * 32, kDown = kWarpM / kStepM, kAcross = kWarpN / kStepN;
    __shared__ __align__(16) float a_tile[kM * kK], b_tile[kK * kN];
    const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32, blocks = (n + kN - 1) / kN;
    const int row0 = blockIdx.x / blocks * kM, column0 = blockIdx.x % blocks * kN;
    const int row = warp / (kN / kWarpN) * kWarpM + lane / (kStepN / kEachN) * kEachM;
    const int column = warp % (kN / kWarpN) * kWarpN + lane % (kStepN / kEachN) * kEachN;
    a += row0 * k;
    b += column0;
    c += (row0 + row) * n + column0 + column;
    float sums[kDown][kAcross][kEachM][kEachN] = {};
    const float *of_a = a_tile + row * (kTransposed ? 1 : kK), *of_b = b_tile + column;
    for (int step = 0; step < k; step += kK) {
        load_vectors<kThreads, kM, kK, kTransposed>(a, k, a_tile, tid);
        load_vectors<kThreads, kK, kN, false>(b, n, b_tile, tid);
        __syncthreads();
        for (int d = 0; d < kK; ++d) {
            float a_values[kDown][kEachM], b_values[kAcross][kEachN];
            for (int s = 0; s < kDown; ++s)
                if (kTransposed) {
                    for (int i = 0; i < kEachM; i += 4) {
                        const float4 v = *reinterpret_cast<const float4*>(&of_a[d * kM + s * kStepM + i]);
                        a_values[s][i] = v.x, a_values[s][i + 1] = v.y, a_values[s][i + 2] = v.z, a_values[s][i + 3] = v.w;
                    }
                } else {
                    for (int i = 0; i < kEachM; ++i) a_values[s][i] = of_a[(s * kStepM + i) * kK + d];
                }
            for (int t = 0; t < kAcross; ++t) {
                const float4 v = *reinterpret_cast<const float4*>(&of_b[d * kN + t * kStepN]);
                b_values[t][0] = v.x, b_values[t][1] = v.y, b_values[t][2] = v.z, b_values[t][3] = v.w;
            }
            for (int s = 0; s < kDown; ++s)
                for (int t = 0; t < kAcross; ++t)
                    for (int i = 0; i < kEachM; ++i)
                        for (int j = 0; j < kEachN; ++j) sums[s][t][i][j] += a_values[s][i] * b_values[t][j];
        }
        __syncthreads();
        a += kK;
        b += kK * n;
    }
    for (int s = 0; s < kDown; ++s)
        for (int t = 0; t < kAcross; ++t)
            for (int i = 0; i < kEachM; ++i)
                *reinterpret_cast<float4*>(&c[(s * kStepM + i) * n + t * kStepN]) =
                    make_float4(sums[s][t][i][0], sums[s][t][i][1], sums[s][t][i][2], sums[s][t][i][3]);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096}, {128});
    const int n = static_cast<int>(run.size(0));
    const size_t count = size_t(n) * n;
    chain::Array<float> a(count), b(count), c(count);
    std::vector<float> expected(run.verify ? count : 0);
    if (run.verify) {
        a.fill([](size_t i) { return chain::pattern(i, 1); });
        b.fill([](size_t i) { return chain::pattern(i, 2); });
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) {
                double sum = 0.0;
                for (int k = 0; k < n; ++k) sum += double(a.host[i * n + k]) * b.host[k * n + j];
                expected[i * n + j] = static_cast<float>(sum);
            }
    }
    auto prepare = [&] { if (run.verify) chain::poison(c); };
    auto check = [&] { return chain::close(c, expected, 1e-4); };
    // v1 has as many threads as fill a multiprocessor best: 768, two blocks of which make 1536.
    const int rows = 768 / 32, by32 = chain::ceil_div(n, 32), tiles = (n / 128) * (n / 128);

    run.variant("v1", [&] { dot_product<<<dim3(by32, chain::ceil_div(n, rows)), dim3(32, rows)>>>(a, b, c, n, n, n); }, check, prepare);
    run.variant("v2", [&] { block_tiles<<<dim3(by32, by32), dim3(32, 32)>>>(a, b, c, n, n, n); }, check, prepare);
    run.variant("v3", [&] { coarse<<<tiles, 256>>>(a, b, c, n, n, n); }, check, prepare);
    run.variant("v4", [&] { register_tiles<128, 128, 32, 16, 128, 16, 128, 8><<<tiles, 256>>>(a, b, c, n, n, n); }, check, prepare);
    run.variant("v5", [&] { register_tiles<128, 64, 64, 32, 32, 16, 32, 4><<<tiles * 2, 256>>>(a, b, c, n, n, n); }, check, prepare);
    run.variant("v6a", [&] { vector_tiles<128, 128, 16, 64, 64, 16, 32, false><<<tiles, 128>>>(a, b, c, n, n, n); }, check, prepare);
    run.variant("v6b", [&] { vector_tiles<64, 128, 8, 64, 64, 32, 32, true><<<tiles * 2, 64>>>(a, b, c, n, n, n); }, check, prepare);
    return run.finish();
}
