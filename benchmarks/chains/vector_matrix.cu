// A vector times a square matrix of floats: with the kernels of a matrix product, of whose left matrix only the first
// row counts, and with kernels for a vector, which read the transposed matrix row by row. The tiled kernels do not
// guard the rows, so that they also compute those that do not count; the arrays have room for them. SIZE, the number
// of rows of the matrix, is a multiple of 64.
#include "common.h"

constexpr int kSpareRows = 64;

// Lanes of a warp lie along a column of the result, of which one element exists.
__global__ void naive(int m, int n, int k, float alpha, const float* a, const float* b, float beta, float* c) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && column < n) {
        float sum = 0.0f;
        for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
        c[row * n + column] = alpha * sum + beta * c[row * n + column];
    }
}

// Lanes of a warp lie along the row; 31 of 32 warps have nothing to do.
__global__ void coalesced(int m, int n, int k, float alpha, const float* a, const float* b, float beta, float* c) {
    const int row = blockIdx.x * 32 + threadIdx.x / 32, column = blockIdx.y * 32 + threadIdx.x % 32;
    if (row < m && column < n) {
        float sum = 0.0f;
        for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
        c[row * n + column] = alpha * sum + beta * c[row * n + column];
    }
}

// 32 x 32 tiles in shared memory.
__global__ void shared_tiles(int m, int n, int k, float alpha, const float* a, const float* b, float beta, float* c) {
    constexpr int kTile = 32;
    __shared__ float a_tile[kTile * kTile], b_tile[kTile * kTile];
    const unsigned row = threadIdx.x / kTile, column = threadIdx.x % kTile;
    a += blockIdx.x * kTile * k;
    b += blockIdx.y * kTile;
    c += blockIdx.x * kTile * n + blockIdx.y * kTile;
    float sum = 0.0f;
    for (int step = 0; step < k; step += kTile) {
        a_tile[row * kTile + column] = a[row * k + column];
        b_tile[row * kTile + column] = b[row * n + column];
        __syncthreads();
        a += kTile;
        b += kTile * n;
        for (int i = 0; i < kTile; ++i) sum += a_tile[row * kTile + i] * b_tile[i * kTile + column];
        __syncthreads();
    }
    c[row * n + column] = alpha * sum + beta * c[row * n + column];
}

// 64 x 64 x 8 tiles, a column of 8 results per thread.
__global__ void tile_1d(int m, int n, int k, float alpha, const float* a, const float* b, float beta, float* c) {
    constexpr int kM = 64, kN = 64, kK = 8, kEach = 8;
    __shared__ float a_tile[kM * kK], b_tile[kK * kN];
    const unsigned column = threadIdx.x % kN, row = threadIdx.x / kN * kEach;
    a += blockIdx.y * kM * k;
    b += blockIdx.x * kN;
    c += blockIdx.y * kM * n + blockIdx.x * kN;
    const unsigned a_column = threadIdx.x % kK, a_row = threadIdx.x / kK;
    const unsigned b_column = threadIdx.x % kN, b_row = threadIdx.x / kN;
    float sums[kEach] = {};
    for (int step = 0; step < k; step += kK) {
        a_tile[a_row * kK + a_column] = a[a_row * k + a_column];
        b_tile[b_row * kN + b_column] = b[b_row * n + b_column];
        __syncthreads();
        a += kK;
        b += kK * n;
        for (int i = 0; i < kK; ++i) {
            const float of_b = b_tile[i * kN + column];
            for (int j = 0; j < kEach; ++j) sums[j] += a_tile[(row + j) * kK + i] * of_b;
        }
        __syncthreads();
    }
    for (int j = 0; j < kEach; ++j)
        c[(row + j) * n + column] = alpha * sums[j] + beta * c[(row + j) * n + column];
}

// 64 x 64 x 8 tiles, 8 x 8 results per thread.
__global__ void __launch_bounds__(64, 1)
    tile_2d(int m, int n, int k, float alpha, const float* a, const float* b, float beta, float* c) {
    constexpr int kM = 64, kN = 64, kK = 8, kEach = 8, kThreads = 64;
    __shared__ float a_tile[kM * kK], b_tile[kK * kN];
    const int column = threadIdx.x % (kN / kEach) * kEach, row = threadIdx.x / (kN / kEach) * kEach;
    a += blockIdx.y * kM * k;
    b += blockIdx.x * kN;
    c += blockIdx.y * kM * n + blockIdx.x * kN;
    const unsigned a_row = threadIdx.x / kK, a_column = threadIdx.x % kK;
    const unsigned b_row = threadIdx.x / kN, b_column = threadIdx.x % kN;
    float sums[kEach * kEach] = {}, of_a[kEach], of_b[kEach];
    for (int step = 0; step < k; step += kK) {
        for (int i = 0; i < kM; i += kThreads / kK) a_tile[(a_row + i) * kK + a_column] = a[(a_row + i) * k + a_column];
        for (int i = 0; i < kK; i += kThreads / kN) b_tile[(b_row + i) * kN + b_column] = b[(b_row + i) * n + b_column];
        __syncthreads();
        a += kK;
        b += kK * n;
        for (int d = 0; d < kK; ++d) {
            for (int i = 0; i < kEach; ++i) of_a[i] = a_tile[(row + i) * kK + d];
            for (int j = 0; j < kEach; ++j) of_b[j] = b_tile[d * kN + column + j];
            for (int i = 0; i < kEach; ++i)
                for (int j = 0; j < kEach; ++j) sums[i * kEach + j] += of_a[i] * of_b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < kEach; ++i)
        for (int j = 0; j < kEach; ++j)
            c[(row + i) * n + column + j] = alpha * sums[i * kEach + j] + beta * c[(row + i) * n + column + j];
}

__device__ __forceinline__ float warp_sum(float sum) {
    for (int distance = warpSize / 2; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
    return sum;
}

// The first thread of the block finds the sum in partial[0].
__device__ __forceinline__ void block_sum(float sum, float* partial, int thread, int threads) {
    sum = warp_sum(sum);
    if (threads > warpSize) {
        if (thread % warpSize == 0) partial[thread / warpSize] = sum;
        __syncthreads();
        if (thread < warpSize) {
            sum = warp_sum(thread < (threads + warpSize - 1) / warpSize ? partial[thread] : 0.0f);
            if (thread == 0) partial[0] = sum;
        }
    } else if (thread == 0) {
        partial[0] = sum;
    }
}

// A block of one warp per row of the transposed matrix.
__global__ void warp_per_row(int n, int k, float* vector, float* matrix, float* out) {
    const int row = blockIdx.x;
    if (row >= n) return;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < k; i += blockDim.x) sum += matrix[row * k + i] * vector[i];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) out[row] = sum;
}

// A block of two warps per row.
__global__ void block_per_row(int n, int k, float* vector, float* matrix, float* out) {
    extern __shared__ float partial[];
    const int row = blockIdx.x;
    if (row >= n) return;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < k; i += blockDim.x) sum += matrix[row * k + i] * vector[i];
    block_sum(sum, partial, threadIdx.x, blockDim.x);
    if (threadIdx.x == 0) out[row] = partial[0];
}

// The same, four numbers at a time.
__global__ void block_per_row_vectors(float* __restrict__ matrix, float* __restrict__ vector, float* __restrict__ out, int n, int k) {
    extern __shared__ float partial[];
    const int row = blockIdx.x;
    if (row >= n) return;
    const float4* of_row = reinterpret_cast<const float4*>(matrix + row * k);
    const float4* of_vector = reinterpret_cast<const float4*>(vector);
    float sum = 0.0f;
#pragma unroll 4
    for (int i = threadIdx.x; i < k / 4; i += blockDim.x) {
        const float4 x = of_row[i], y = of_vector[i];
        sum += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
    }
    block_sum(sum, partial, threadIdx.x, blockDim.x);
    if (threadIdx.x == 0) out[row] = partial[0];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096}, {192});
    const int n = static_cast<int>(run.size(0)), k = n;
    const size_t count = size_t(n) * k;
    chain::Array<float> vector(size_t(kSpareRows) * k), matrix(count), transposed(count), out(size_t(kSpareRows) * n);
    const float alpha = 1.0f, beta = 0.0f;
    std::vector<double> expected(run.verify ? n : 0);
    if (run.verify) {
        vector.fill([](size_t i) { return chain::pattern(i, 1); });
        matrix.fill([](size_t i) { return chain::pattern(i, 2); });
        transposed.fill([&](size_t i) { return matrix.host[i % k * n + i / k]; });
        for (int i = 0; i < k; ++i)
            for (int j = 0; j < n; ++j) expected[j] += double(vector.host[i]) * matrix.host[size_t(i) * n + j];
    }
    auto prepare = [&] { if (run.verify) CHECK(cudaMemset(out.data, 0, out.count * sizeof(float))); };
    auto check = [&] { return chain::close(out, expected, 1e-5, 10.0); };
    const dim3 by32(1, n / 32), by64(n / 64, 1);
    const size_t bytes = 2 * sizeof(float);
    run.variant("naive", [&] { naive<<<by32, dim3(32, 32)>>>(1, n, k, alpha, vector, matrix, beta, out); }, check, prepare);
    run.variant("coalesced", [&] { coalesced<<<by32, 1024>>>(1, n, k, alpha, vector, matrix, beta, out); }, check, prepare);
    run.variant("shared_tiles", [&] { shared_tiles<<<by32, 1024>>>(1, n, k, alpha, vector, matrix, beta, out); }, check, prepare);
    run.variant("tile_1d", [&] { tile_1d<<<by64, 512>>>(1, n, k, alpha, vector, matrix, beta, out); }, check, prepare);
    run.variant("tile_2d", [&] { tile_2d<<<by64, 64>>>(1, n, k, alpha, vector, matrix, beta, out); }, check, prepare);
    run.variant("warp_per_row", [&] { warp_per_row<<<n, 32>>>(n, k, vector, transposed, out); }, check, prepare);
    run.variant("block_per_row", [&] { block_per_row<<<n, 64, bytes>>>(n, k, vector, transposed, out); }, check, prepare);
    run.variant("block_per_row_vectors", [&] { block_per_row_vectors<<<n, 64, bytes>>>(transposed, vector, out, n, k); }, check, prepare);
    return run.finish();
}
