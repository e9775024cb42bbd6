// Products of square matrices of integers by square blocks, a thread for each result: directly, or with tiles of the
// block's size in shared memory. SIZE is the number of rows.
#include "common.h"

__global__ void direct(const int* a, const int* b, int* c, int m, int k, int n) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n) return;
    int sum = 0;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

template <int kTile>
__global__ void tiled(const int* a, const int* b, int* c, int m, int k, int n) {
    __shared__ int a_tile[kTile][kTile], b_tile[kTile][kTile];
    const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
    int sum = 0;
    for (int step = 0; step < (k + kTile - 1) / kTile; ++step) {
        const int across = step * kTile + threadIdx.x, down = step * kTile + threadIdx.y;
        a_tile[threadIdx.y][threadIdx.x] = row < m && across < k ? a[row * k + across] : 0;
        b_tile[threadIdx.y][threadIdx.x] = down < k && column < n ? b[down * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < kTile; ++i) sum += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {10000}, {70});
    const int n = static_cast<int>(run.size(0));
    chain::Array<int> a(size_t(n) * n), b(size_t(n) * n), c(size_t(n) * n);
    std::vector<int> expected;
    if (run.verify) {
        a.fill([](size_t i) { return int(10.0f * chain::pattern(i, 1)); });
        b.fill([](size_t i) { return int(10.0f * chain::pattern(i, 2)); });
        for (int row = 0; row < n; ++row)
            for (int column = 0; column < n; ++column) {
                int sum = 0;
                for (int i = 0; i < n; ++i) sum += a.host[row * n + i] * b.host[i * n + column];
                expected.push_back(sum);
            }
    }
    auto check = [&] { return chain::close(c, expected, 0.0); };
    auto prepare = [&] { if (run.verify) chain::poison(c); };
    auto grid = [&](int side) { return dim3(chain::ceil_div(n, side), chain::ceil_div(n, side)); };
    for (int side : {8, 16, 32}) {
        const std::string name = "direct_" + std::to_string(side);
        run.variant(name.c_str(), [&] { direct<<<grid(side), dim3(side, side)>>>(a, b, c, n, n, n); }, check, prepare);
    }
    run.variant("tiled_8", [&] { tiled<8><<<grid(8), dim3(8, 8)>>>(a, b, c, n, n, n); }, check, prepare);
    run.variant("tiled_16", [&] { tiled<16><<<grid(16), dim3(16, 16)>>>(a, b, c, n, n, n); }, check, prepare);
    run.variant("tiled_32", [&] { tiled<32><<<grid(32), dim3(32, 32)>>>(a, b, c, n, n, n); }, check, prepare);
    return run.finish();
}
