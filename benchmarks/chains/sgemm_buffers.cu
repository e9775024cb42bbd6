// Matrix product C = A B of fp32 matrices with tiles of 128 x 128 x 8 and 16 x 16 threads of 8 x 8 results: operands
// straight from shared memory, through registers without conflicts, and with two buffers. SIZES are M, N and K.
#include "common.h"

constexpr int kM = 128, kN = 128, kK = 8, kEach = 8;

__device__ float4& vector(float& first) { return *reinterpret_cast<float4*>(&first); }

// Each product reads both of its operands from shared memory, as far as the compiler does not keep them.
__global__ void sliced(float* a, float* b, float* c, int m, int n, int k) {
    __shared__ __align__(16) float a_tile[kM][kK], b_tile[kK][kN];
    const int tx = threadIdx.x, ty = threadIdx.y, tid = ty * blockDim.x + tx;
    const int a_row = tid / 2, a_column = tid % 2 * 4, b_row = tid / 32, b_column = tid % 32 * 4;
    const int row = blockIdx.y * kM + a_row, column = blockIdx.x * kN + b_column;
    float sums[kEach][kEach] = {};
    for (int step = 0; step < (k + kK - 1) / kK; ++step) {
        vector(a_tile[a_row][a_column]) = vector(a[row * k + step * kK + a_column]);
        vector(b_tile[b_row][b_column]) = vector(b[(step * kK + b_row) * n + column]);
        __syncthreads();
#pragma unroll
        for (int d = 0; d < kK; ++d)
#pragma unroll
            for (int i = 0; i < kEach; ++i)
#pragma unroll
                for (int j = 0; j < kEach; ++j) sums[i][j] += a_tile[ty * kEach + i][d] * b_tile[d][tx * kEach + j];
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i)
#pragma unroll
        for (int j = 0; j < kEach; j += 4)
            vector(c[(blockIdx.y * kM + ty * kEach + i) * n + blockIdx.x * kN + tx * kEach + j]) = vector(sums[i][j]);
}

__device__ void put_a(float (*tile)[kM], const float* values, int row, int column) {
#pragma unroll
    for (int i = 0; i < 4; ++i) tile[column + i][row] = values[i];
}

// The results of a thread lie in four quarters of the tile, four by four.
__device__ void multiply(float (*a_tile)[kM], float (*b_tile)[kN], float (*sums)[kEach]) {
    __align__(16) float of_a[kEach], of_b[kEach];
#pragma unroll
    for (int d = 0; d < kK; ++d) {
        vector(of_a[0]) = vector(a_tile[d][threadIdx.y * 4]);
        vector(of_a[4]) = vector(a_tile[d][threadIdx.y * 4 + kM / 2]);
        vector(of_b[0]) = vector(b_tile[d][threadIdx.x * 4]);
        vector(of_b[4]) = vector(b_tile[d][threadIdx.x * 4 + kN / 2]);
#pragma unroll
        for (int i = 0; i < kEach; ++i)
#pragma unroll
            for (int j = 0; j < kEach; ++j) sums[i][j] = __fmaf_rn(of_a[i], of_b[j], sums[i][j]);
    }
}

__device__ void store(float* c, int n, float (*sums)[kEach]) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        const int row = blockIdx.y * kM + i / 4 * (kM / 2) + threadIdx.y * 4 + i % 4;
        float* to = c + row * n + blockIdx.x * kN + threadIdx.x * 4;
        vector(to[0]) = vector(sums[i][0]);
        vector(to[kN / 2]) = vector(sums[i][4]);
    }
}

__global__ void conflict_free(float* a, float* b, float* c, int m, int n, int k) {
    __shared__ __align__(16) float a_tile[kK][kM], b_tile[kK][kN];
    const int tid = threadIdx.y * blockDim.x + threadIdx.x;
    const int a_row = tid / 2, a_column = tid % 2 * 4, b_row = tid / 32, b_column = tid % 32 * 4;
    const int row = blockIdx.y * kM + a_row, column = blockIdx.x * kN + b_column;
    __align__(16) float a_values[4], b_values[4], sums[kEach][kEach] = {};
    for (int step = 0; step < (k + kK - 1) / kK; ++step) {
        vector(a_values[0]) = vector(a[row * k + step * kK + a_column]);
        vector(b_values[0]) = vector(b[(step * kK + b_row) * n + column]);
        put_a(a_tile, a_values, a_row, a_column);
        vector(b_tile[b_row][b_column]) = vector(b_values[0]);
        __syncthreads();
        multiply(a_tile, b_tile, sums);
        __syncthreads();
    }
    store(c, n, sums);
}

// The next tile is on its way to registers while this one is multiplied; one barrier per step.
__global__ void two_buffers(float* a, float* b, float* c, int m, int n, int k) {
    __shared__ __align__(16) float a_tile[2][kK][kM], b_tile[2][kK][kN];
    const int tid = threadIdx.y * blockDim.x + threadIdx.x;
    const int a_row = tid / 2, a_column = tid % 2 * 4, b_row = tid / 32, b_column = tid % 32 * 4;
    const int row = blockIdx.y * kM + a_row, column = blockIdx.x * kN + b_column;
    __align__(16) float a_values[4], b_values[4], sums[kEach][kEach] = {};
    auto load = [&](int step) {
        vector(a_values[0]) = vector(a[row * k + step * kK + a_column]);
        vector(b_values[0]) = vector(b[(step * kK + b_row) * n + column]);
    };
    auto put = [&](int buffer) {
        put_a(a_tile[buffer], a_values, a_row, a_column);
        vector(b_tile[buffer][b_row][b_column]) = vector(b_values[0]);
    };
    load(0);
    put(0);
    __syncthreads();
    const int steps = (k + kK - 1) / kK;
    for (int step = 1; step < steps; ++step) {
        load(step);
        multiply(a_tile[(step - 1) & 1], b_tile[(step - 1) & 1], sums);
        put(step & 1);
        __syncthreads();
    }
    multiply(a_tile[(steps - 1) & 1], b_tile[(steps - 1) & 1], sums);
    store(c, n, sums);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096, 4096, 4096}, {128, 256, 64});
    const int m = static_cast<int>(run.size(0)), n = static_cast<int>(run.size(1)), k = static_cast<int>(run.size(2));
    chain::Array<float> a(size_t(m) * k), b(size_t(k) * n), c(size_t(m) * n);
    std::vector<float> expected(run.verify ? c.count : 0);
    if (run.verify) {
        a.fill([](size_t i) { return chain::pattern(i, 1); });
        b.fill([](size_t i) { return chain::pattern(i, 2); });
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j) {
                double sum = 0.0;
                for (int d = 0; d < k; ++d) sum += double(a.host[size_t(i) * k + d]) * b.host[size_t(d) * n + j];
                expected[size_t(i) * n + j] = static_cast<float>(sum);
            }
    }
    auto prepare = [&] { if (run.verify) chain::poison(c); };
    auto check = [&] { return chain::close(c, expected, 1e-4); };
    const dim3 block(kN / kEach, kM / kEach), grid(n / kN, m / kM);
    run.variant("sliced", [&] { sliced<<<grid, block>>>(a, b, c, m, n, k); }, check, prepare);
    run.variant("conflict_free", [&] { conflict_free<<<grid, block>>>(a, b, c, m, n, k); }, check, prepare);
    run.variant("two_buffers", [&] { two_buffers<<<grid, block>>>(a, b, c, m, n, k); }, check, prepare);
    return run.finish();
}
