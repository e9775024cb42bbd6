// Matrix product of square fp32 matrices without tiles: sums kept in the result, in registers because nothing else may
// point there, in registers by name; and 32 x 32 tiles in shared memory. SIZE is the number of rows, a multiple of 32.
#include "common.h"

// Lanes of a warp along a column of C; every step writes the sum so far.
__global__ void rows_by_x(const float* a, const float* b, float* c, int n) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n) return;
    c[row * n + column] = 0.0f;
    for (int k = 0; k < n; ++k) c[row * n + column] += a[row * n + k] * b[k * n + column];
}

// Lanes along a row of C.
__global__ void rows_by_y(const float* a, const float* b, float* c, int n) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || column >= n) return;
    c[row * n + column] = 0.0f;
    for (int k = 0; k < n; ++k) c[row * n + column] += a[row * n + k] * b[k * n + column];
}

__global__ void restricted(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || column >= n) return;
    c[row * n + column] = 0.0f;
    for (int k = 0; k < n; ++k) c[row * n + column] += a[row * n + k] * b[k * n + column];
}

__global__ void in_register(const float* a, const float* b, float* c, int n) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || column >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

__global__ void shared_tiles(const float* a, const float* b, float* c, int n) {
    constexpr int kTile = 32;
    __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile];
    const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
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

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096}, {96});
    const int n = static_cast<int>(run.size(0));
    chain::Array<float> a(size_t(n) * n), b(size_t(n) * n), c(size_t(n) * n);
    std::vector<double> expected;
    if (run.verify) {
        a.fill([](size_t i) { return chain::pattern(i, 1); });
        b.fill([](size_t i) { return chain::pattern(i, 2); });
        expected.assign(size_t(n) * n, 0.0);
        for (int i = 0; i < n; ++i)
            for (int k = 0; k < n; ++k)
                for (int j = 0; j < n; ++j) expected[i * n + j] += double(a.host[i * n + k]) * b.host[k * n + j];
    }
    auto prepare = [&] { if (run.verify) chain::poison(c); };
    auto check = [&] { return chain::close(c, expected, 1e-4, 10.0); };
    const dim3 block(32, 32), grid(n / 32, n / 32);
    run.variant("rows_by_x", [&] { rows_by_x<<<grid, block>>>(a, b, c, n); }, check, prepare);
    run.variant("rows_by_y", [&] { rows_by_y<<<grid, block>>>(a, b, c, n); }, check, prepare);
    run.variant("restricted", [&] { restricted<<<grid, block>>>(a, b, c, n); }, check, prepare);
    run.variant("in_register", [&] { in_register<<<grid, block>>>(a, b, c, n); }, check, prepare);
    run.variant("shared_tiles", [&] { shared_tiles<<<grid, block>>>(a, b, c, n); }, check, prepare);
    return run.finish();
}
