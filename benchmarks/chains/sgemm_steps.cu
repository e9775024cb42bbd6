// Matrix product of square fp32 matrices, blocks of threads in two dimensions: from one result per thread to eight
// by eight, whose operands pass from shared memory through registers. SIZE, the number of rows, is a multiple of 128.
#include "common.h"

// Lanes of a warp lie along a column of C.
__global__ void naive(const float* a, const float* b, float* c, int n) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

// Lanes of a warp lie along a row of C.
__global__ void coalesced(const float* a, const float* b, float* c, int n) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

__global__ void shared_tiles(const float* a, const float* b, float* c, int n) {
    constexpr int kTile = 32;
    __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile];
    const int column = blockIdx.x * kTile + threadIdx.x, row = blockIdx.y * kTile + threadIdx.y;
    float sum = 0.0f;
    for (int step = 0; step < n; step += kTile) {
        a_tile[threadIdx.y][threadIdx.x] = a[row * n + step + threadIdx.x];
        b_tile[threadIdx.y][threadIdx.x] = b[(step + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < kTile; ++k) sum += a_tile[threadIdx.y][k] * b_tile[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// 64 x 64 x 8 tiles, a column of eight results per thread of a 64 x 8 block.
__global__ void column_of_8(const float* a, const float* b, float* c, int n) {
    constexpr int kM = 64, kN = 64, kK = 8, kEach = 8;
    __shared__ float a_tile[kM][kK], b_tile[kK][kN];
    const int column = blockIdx.x * kN + threadIdx.x, row = (blockIdx.y * blockDim.y + threadIdx.y) * kEach;
    float sums[kEach] = {};
    for (int step = 0; step < n; step += kK) {
        const int flat = threadIdx.y * blockDim.x + threadIdx.x, a_row = flat / kK, a_column = flat % kK;
        a_tile[a_row][a_column] = a[(blockIdx.y * kM + a_row) * n + step + a_column];
        b_tile[threadIdx.y][threadIdx.x] = b[(step + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < kK; ++k) {
            const float right = b_tile[k][threadIdx.x];
            for (int i = 0; i < kEach; ++i) sums[i] += a_tile[threadIdx.y * kEach + i][k] * right;
        }
        __syncthreads();
    }
    for (int i = 0; i < kEach; ++i)
        if (row + i < n && column < n) c[(row + i) * n + column] = sums[i];
}

// 128 x 128 x 16 tiles, eight by eight results per thread of a 16 x 16 block. kVectors: four numbers at a time
// between global and shared memory.
template <bool kVectors>
__global__ void square_of_8(const float* a, const float* b, float* c, int n) {
    constexpr int kM = 128, kN = 128, kK = 16, kEach = 8, kThreads = 256;
    __shared__ float a_tile[kM][kK], b_tile[kK][kN];
    const int column = (blockIdx.x * blockDim.x + threadIdx.x) * kEach, row = (blockIdx.y * blockDim.y + threadIdx.y) * kEach;
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    float sums[kEach * kEach] = {}, left[kEach], right[kEach];
    for (int step = 0; step < n; step += kK) {
        if (kVectors) {
#pragma unroll
            for (int turn = 0; turn < kM * kK / kThreads / 4; ++turn) {
                const int flat = thread + turn * kThreads;
                const int a_row = flat / (kK / 4), a_column = flat % (kK / 4) * 4;
                const int b_row = flat / (kN / 4), b_column = flat % (kN / 4) * 4;
                *reinterpret_cast<float4*>(&a_tile[a_row][a_column]) =
                    *reinterpret_cast<const float4*>(&a[(blockIdx.y * kM + a_row) * n + step + a_column]);
                *reinterpret_cast<float4*>(&b_tile[b_row][b_column]) =
                    *reinterpret_cast<const float4*>(&b[(step + b_row) * n + blockIdx.x * kN + b_column]);
            }
        } else {
#pragma unroll
            for (int turn = 0; turn < kM * kK / kThreads; ++turn) {
                const int flat = thread + turn * kThreads;
                a_tile[flat / kK][flat % kK] = a[(blockIdx.y * kM + flat / kK) * n + step + flat % kK];
                b_tile[flat / kN][flat % kN] = b[(step + flat / kN) * n + blockIdx.x * kN + flat % kN];
            }
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kK; ++k) {
#pragma unroll
            for (int i = 0; i < kEach; ++i) left[i] = a_tile[threadIdx.y * kEach + i][k];
#pragma unroll
            for (int j = 0; j < kEach; ++j) right[j] = b_tile[k][threadIdx.x * kEach + j];
#pragma unroll
            for (int i = 0; i < kEach; ++i)
#pragma unroll
                for (int j = 0; j < kEach; ++j) sums[i * kEach + j] += left[i] * right[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        if (kVectors) {
#pragma unroll
            for (int j = 0; j < kEach; j += 4) {
                float4* place = reinterpret_cast<float4*>(&c[(row + i) * n + column + j]);
                const float* sum = &sums[i * kEach + j];
                *place = make_float4(sum[0], sum[1], sum[2], sum[3]);
            }
        } else {
#pragma unroll
            for (int j = 0; j < kEach; ++j) c[(row + i) * n + column + j] = sums[i * kEach + j];
        }
    }
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096}, {128});
    const int n = static_cast<int>(run.size(0));
    const size_t count = size_t(n) * n;
    chain::Array<float> a(count), b(count), c(count);
    std::vector<double> expected(run.verify ? count : 0);
    if (run.verify) {
        a.fill([](size_t i) { return chain::pattern(i, 1); });
        b.fill([](size_t i) { return chain::pattern(i, 2); });
        for (int row = 0; row < n; ++row)
            for (int k = 0; k < n; ++k)
                for (int column = 0; column < n; ++column)
                    expected[size_t(row) * n + column] += double(a.host[size_t(row) * n + k]) * b.host[size_t(k) * n + column];
    }
    auto prepare = [&] { if (run.verify) chain::poison(c); };
    auto check = [&] { return chain::close(c, expected, 1e-5, 10.0); };
    const dim3 block(32, 32), grid(n / 32, n / 32);
    run.variant("naive", [&] { naive<<<grid, block>>>(a, b, c, n); }, check, prepare);
    run.variant("coalesced", [&] { coalesced<<<grid, block>>>(a, b, c, n); }, check, prepare);
    run.variant("shared_tiles", [&] { shared_tiles<<<grid, block>>>(a, b, c, n); }, check, prepare);
    run.variant("column_of_8", [&] { column_of_8<<<dim3(n / 64, n / 64), dim3(64, 8)>>>(a, b, c, n); }, check, prepare);
    run.variant("square_of_8", [&] { square_of_8<false><<<dim3(n / 128, n / 128), dim3(16, 16)>>>(a, b, c, n); }, check, prepare);
    run.variant("square_of_8_vectors", [&] { square_of_8<true><<<dim3(n / 128, n / 128), dim3(16, 16)>>>(a, b, c, n); }, check, prepare);
    return run.finish();
}
