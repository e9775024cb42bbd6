// Matrix products C = A * B, rows of N: a thread per element, tiles in shared memory, and squares of elements per thread;
// then with a bias and a ReLU, in the same kernel or after it. SIZES are the rows and columns of C, and K.
#include "common.h"

__global__ void naive(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n,
                      int k) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

template <int kTile>
__global__ void tiled(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n,
                      int k) {
    __shared__ float of_a[kTile][kTile], of_b[kTile][kTile];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
    float sum = 0.0f;
    const int steps = (k + kTile - 1) / kTile;
    for (int step = 0; step < steps; ++step) {
        const int a_column = step * kTile + x, b_row = step * kTile + y;
        of_a[y][x] = row < m && a_column < k ? a[row * k + a_column] : 0.0f;
        of_b[y][x] = b_row < k && column < n ? b[b_row * n + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kTile; ++i) sum += of_a[y][i] * of_b[i][x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

struct AsItIs {
    __device__ float operator()(float value, int) const { return value; }
};

struct BiasAndRelu {
    const float* __restrict__ bias;
    __device__ float operator()(float value, int column) const {
        const float moved = value + bias[column];
        return moved > 0.0f ? moved : 0.0f;
    }
};

// 16 x 16 threads with kEach x kEach elements each, 16 columns of A at a time. A lies transposed in shared memory.
// kUnrolled is the factor for the loops over a thread's elements: with 1 they lie in local memory.
template <int kEach, int kUnrolled, class End>
__global__ __launch_bounds__(256) void squares(const float* __restrict__ a, const float* __restrict__ b,
                                               float* __restrict__ c, int m, int n, int k, End end) {
    constexpr int kSide = 16 * kEach, kDeep = 16, kThreads = 256;
    __shared__ float of_a[kDeep][kSide], of_b[kDeep][kSide];
    const int top = blockIdx.y * kSide, left = blockIdx.x * kSide, thread = threadIdx.y * blockDim.x + threadIdx.x;
    const int a_row = thread / kDeep, a_column = thread % kDeep, b_row = thread / kSide, b_column = thread % kSide;
    float sums[kEach][kEach] = {}, down[kEach], across[kEach];
    const int steps = (k + kDeep - 1) / kDeep;
    for (int step = 0; step < steps; ++step) {
#pragma unroll
        for (int i = 0; i < kSide; i += kThreads / kDeep) {
            const int row = top + a_row + i, column = step * kDeep + a_column;
            of_a[a_column][a_row + i] = row < m && column < k ? a[size_t(row) * k + column] : 0.0f;
        }
#pragma unroll
        for (int i = 0; i < kDeep; i += kThreads / kSide) {
            const int row = step * kDeep + b_row + i, column = left + b_column;
            of_b[b_row + i][b_column] = row < k && column < n ? b[size_t(row) * n + column] : 0.0f;
        }
        __syncthreads();
#pragma unroll kUnrolled
        for (int d = 0; d < kDeep; ++d) {
#pragma unroll kUnrolled
            for (int i = 0; i < kEach; ++i) down[i] = of_a[d][threadIdx.y * kEach + i];
#pragma unroll kUnrolled
            for (int j = 0; j < kEach; ++j) across[j] = of_b[d][threadIdx.x * kEach + j];
#pragma unroll kUnrolled
            for (int i = 0; i < kEach; ++i) {
#pragma unroll kUnrolled
                for (int j = 0; j < kEach; ++j) sums[i][j] += down[i] * across[j];
            }
        }
        __syncthreads();
    }
#pragma unroll kUnrolled
    for (int i = 0; i < kEach; ++i) {
#pragma unroll kUnrolled
        for (int j = 0; j < kEach; ++j) {
            const int row = top + threadIdx.y * kEach + i, column = left + threadIdx.x * kEach + j;
            if (row < m && column < n) c[size_t(row) * n + column] = end(sums[i][j], column);
        }
    }
}

__global__ void bias_and_relu(float* __restrict__ c, const float* __restrict__ bias, int m, int n) {
    const size_t all = size_t(m) * n, step = size_t(gridDim.x) * blockDim.x;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += step) {
        const float moved = c[i] + bias[i % n];
        c[i] = moved > 0.0f ? moved : 0.0f;
    }
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1024, 1024, 1024}, {130, 100, 70});
    const int m = static_cast<int>(run.size(0)), n = static_cast<int>(run.size(1)), k = static_cast<int>(run.size(2));
    chain::Array<float> a(size_t(m) * k), b(size_t(k) * n), c(size_t(m) * n), bias(n);
    std::vector<float> expected, ended;
    if (run.verify) {
        a.fill([](size_t i) { return chain::pattern(i, 1); });
        b.fill([](size_t i) { return chain::pattern(i, 2); });
        bias.fill([](size_t i) { return chain::pattern(i, 3); });
        for (int row = 0; row < m; ++row)
            for (int column = 0; column < n; ++column) {
                double sum = 0.0;
                for (int i = 0; i < k; ++i) sum += double(a.host[row * k + i]) * b.host[i * n + column];
                expected.push_back(float(sum));
                ended.push_back(std::fmax(float(sum) + bias.host[column], 0.0f));
            }
    }
    auto check = [&] { return chain::close(c, expected, 1e-4); };
    auto check_ended = [&] { return chain::close(c, ended, 1e-4); };
    auto prepare = [&] { if (run.verify) chain::poison(c); };
    auto blocks = [&](int side) { return dim3(chain::ceil_div(n, side), chain::ceil_div(m, side)); };
    const dim3 threads(16, 16);
    const int elements = chain::ceil_div(size_t(m) * n, 256), passes = elements < 1024 ? elements : 1024;
    run.variant("naive", [&] { naive<<<blocks(16), threads>>>(a, b, c, m, n, k); }, check, prepare);
    run.variant("tiled_8", [&] { tiled<8><<<blocks(8), dim3(8, 8)>>>(a, b, c, m, n, k); }, check, prepare);
    run.variant("tiled_16", [&] { tiled<16><<<blocks(16), threads>>>(a, b, c, m, n, k); }, check, prepare);
    run.variant("tiled_32", [&] { tiled<32><<<blocks(32), dim3(32, 32)>>>(a, b, c, m, n, k); }, check, prepare);
    run.variant("squares_2", [&] { squares<2, 16><<<blocks(32), threads>>>(a, b, c, m, n, k, AsItIs{}); }, check, prepare);
    run.variant("squares_4", [&] { squares<4, 16><<<blocks(64), threads>>>(a, b, c, m, n, k, AsItIs{}); }, check, prepare);
    run.variant("squares_4_rolled",
                [&] { squares<4, 1><<<blocks(64), threads>>>(a, b, c, m, n, k, AsItIs{}); }, check, prepare);
    run.variant("squares_8", [&] { squares<8, 16><<<blocks(128), threads>>>(a, b, c, m, n, k, AsItIs{}); }, check, prepare);
    run.variant("apart", [&] {
        squares<8, 16><<<blocks(128), threads>>>(a, b, c, m, n, k, AsItIs{});
        bias_and_relu<<<passes, 256>>>(c, bias, m, n);
    }, check_ended, prepare);
    run.variant("fused",
                [&] { squares<8, 16><<<blocks(128), threads>>>(a, b, c, m, n, k, BiasAndRelu{bias}); }, check_ended, prepare);
    return run.finish();
}
