// C = A * B of square matrices: a thread per element, tiles in shared memory, and 4 x 4 elements per thread in small
// blocks. SIZE is a multiple of 32.
#include "common.h"

__global__ void naive(const float* a, const float* b, float* c, int n) {
    const int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (row >= n || column >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

__global__ void tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float of_a[32][32], of_b[32][32];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + x;
    float sum = 0.0f;
    for (int first = 0; first < n; first += 32) {
        of_a[y][x] = row < n && first + x < n ? a[row * n + first + x] : 0.0f;
        of_b[y][x] = first + y < n && column < n ? b[(first + y) * n + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < 32; ++k) sum += of_a[y][k] * of_b[k][x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}

// 8 x 8 threads for a tile of 32 x 32, eight columns of A at a time.
__global__ void registers(const float* a, const float* b, float* c, int n) {
    __shared__ float of_a[32][8], of_b[8][32];
    const int x = threadIdx.x, y = threadIdx.y, thread = y * 8 + x, top = blockIdx.y * 32, left = blockIdx.x * 32;
    float sums[4][4] = {}, down[4], across[4];
    for (int first = 0; first < n; first += 8) {
        for (int i = 0; i < 4; ++i) {
            of_a[thread / 8 + 8 * i][thread % 8] = a[(top + thread / 8 + 8 * i) * n + first + thread % 8];
            of_b[thread / 32 + 2 * i][thread % 32] = b[(first + thread / 32 + 2 * i) * n + left + thread % 32];
        }
        __syncthreads();
        for (int k = 0; k < 8; ++k) {
            for (int i = 0; i < 4; ++i) {
                down[i] = of_a[y * 4 + i][k];
                across[i] = of_b[k][x * 4 + i];
            }
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) sums[i][j] = fmaf(down[i], across[j], sums[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) c[(top + y * 4 + i) * n + left + x * 4 + j] = sums[i][j];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {2048}, {128});
    const int n = static_cast<int>(run.size(0));
    chain::Array<float> a(size_t(n) * n), b(size_t(n) * n), c(size_t(n) * n);
    std::vector<float> expected;
    if (run.verify) {
        a.fill([](size_t i) { return chain::pattern(i, 1); });
        b.fill([](size_t i) { return chain::pattern(i, 2); });
        expected.assign(size_t(n) * n, 0.0f);
        for (int i = 0; i < n; ++i)
            for (int k = 0; k < n; ++k)
                for (int j = 0; j < n; ++j) expected[i * n + j] += a.host[i * n + k] * b.host[k * n + j];
    }
    auto check = [&] { return chain::close(c, expected, 1e-3, 10.0); };
    auto prepare = [&] { if (run.verify) chain::poison(c); };
    const dim3 grid(chain::ceil_div(n, 32), chain::ceil_div(n, 32));
    run.variant("naive", [&] { naive<<<grid, dim3(32, 32)>>>(a, b, c, n); }, check, prepare);
    run.variant("tiled", [&] { tiled<<<grid, dim3(32, 32)>>>(a, b, c, n); }, check, prepare);
    run.variant("registers", [&] { registers<<<grid, dim3(8, 8)>>>(a, b, c, n); }, check, prepare);
    return run.finish();
}
