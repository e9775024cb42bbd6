// The five-point Laplacian of a square, zero outside it: eight blocks of 256 threads per multiprocessor that walk over it,
// or a block for each tile of 16 x 16 with its border in shared memory. SIZE is the side, a multiple of 16.
#include "common.h"

constexpr int kThreads = 256, kTile = 16, kSpan = kTile + 2;

__global__ __launch_bounds__(kThreads, 4) void walk(const float* __restrict__ in, float* __restrict__ out, int n) {
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < n * n; at += blockDim.x * gridDim.x) {
        const int row = at / n, column = at % n;
        const float here = in[at];
        const float above = row > 0 ? in[(row - 1) * n + column] : 0.0f;
        const float below = row + 1 < n ? in[(row + 1) * n + column] : 0.0f;
        const float left = column > 0 ? in[row * n + column - 1] : 0.0f;
        const float right = column + 1 < n ? in[row * n + column + 1] : 0.0f;
        out[at] = above + below + left + right - 4.0f * here;
    }
}

__global__ __launch_bounds__(kThreads, 4) void tiles(const float* __restrict__ in, float* __restrict__ out, int n) {
    __shared__ float tile[kSpan][kSpan];
    for (int k = threadIdx.x; k < kSpan * kSpan; k += blockDim.x) {
        const int y = k / kSpan, x = k % kSpan;
        const int row = blockIdx.y * kTile + y - 1, column = blockIdx.x * kTile + x - 1;
        tile[y][x] = row >= 0 && row < n && column >= 0 && column < n ? in[row * n + column] : 0.0f;
    }
    __syncthreads();
    const int x = threadIdx.x % kTile, y = threadIdx.x / kTile;
    const int row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
    if (row < n && column < n)
        out[row * n + column] =
            tile[y][x + 1] + tile[y + 2][x + 1] + tile[y + 1][x] + tile[y + 1][x + 2] - 4.0f * tile[y + 1][x + 1];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096}, {96});
    const int n = static_cast<int>(run.size(0));
    chain::Array<float> in(size_t(n) * n), out(size_t(n) * n);
    std::vector<float> expected;
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        auto at = [&](int row, int column) {
            return row >= 0 && row < n && column >= 0 && column < n ? in.host[size_t(row) * n + column] : 0.0f;
        };
        for (int row = 0; row < n; ++row)
            for (int column = 0; column < n; ++column)
                expected.push_back(at(row - 1, column) + at(row + 1, column) + at(row, column - 1) +
                                   at(row, column + 1) - 4.0f * at(row, column));
    }
    auto check = [&] { return chain::close(out, expected, 1e-5); };
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    cudaDeviceProp card;
    CHECK(cudaGetDeviceProperties(&card, 0));
    const int blocks = std::min(chain::ceil_div((long long)n * n, kThreads), 8 * card.multiProcessorCount);
    const dim3 grid(chain::ceil_div(n, kTile), chain::ceil_div(n, kTile));
    run.variant("walk", [&] { walk<<<blocks, kThreads>>>(in, out, n); }, check, prepare);
    run.variant("tiles", [&] { tiles<<<grid, kThreads>>>(in, out, n); }, check, prepare);
    return run.finish();
}
