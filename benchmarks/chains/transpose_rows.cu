// A copy and transposes of a square fp32 matrix by blocks of 32 x 8 threads, four rows each: with reads or writes that
// jump by a row, and through shared memory with conflicts or padded. SIZE is the side, a multiple of 32.
#include "common.h"

constexpr int kTile = 32, kRows = 8;

__global__ void copy(const float* in, float* out, int n) {
    const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
    for (int j = 0; j < kTile; j += kRows) out[(y + j) * n + x] = in[(y + j) * n + x];
}

__global__ void strided_write(const float* in, float* out, int n) {
    const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
    for (int j = 0; j < kTile; j += kRows) out[x * n + y + j] = in[(y + j) * n + x];
}

__global__ void strided_read(const float* in, float* out, int n) {
    const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
    for (int j = 0; j < kTile; j += kRows) out[(y + j) * n + x] = in[x * n + y + j];
}

template <int kPadding>
__global__ void tiled(const float* in, float* out, int n) {
    __shared__ float tile[kTile][kTile + kPadding];
    const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
    for (int j = 0; j < kTile; j += kRows) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    const int column = blockIdx.y * kTile + threadIdx.x, row = blockIdx.x * kTile + threadIdx.y;
    for (int j = 0; j < kTile; j += kRows) out[(row + j) * n + column] = tile[threadIdx.x][threadIdx.y + j];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {8192}, {96});
    const int n = static_cast<int>(run.size(0));
    chain::Array<float> in(size_t(n) * n), out(size_t(n) * n);
    std::vector<float> expected;
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        for (int row = 0; row < n; ++row)
            for (int column = 0; column < n; ++column) expected.push_back(in.host[size_t(column) * n + row]);
    }
    auto check_copy = [&] { return chain::close(out, in.host, 0.0); };
    auto check = [&] { return chain::close(out, expected, 0.0); };
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    const dim3 grid(n / kTile, n / kTile), block(kTile, kRows);
    run.variant("copy", [&] { copy<<<grid, block>>>(in, out, n); }, check_copy, prepare);
    run.variant("strided_write", [&] { strided_write<<<grid, block>>>(in, out, n); }, check, prepare);
    run.variant("strided_read", [&] { strided_read<<<grid, block>>>(in, out, n); }, check, prepare);
    run.variant("conflicts", [&] { tiled<0><<<grid, block>>>(in, out, n); }, check, prepare);
    run.variant("padded", [&] { tiled<1><<<grid, block>>>(in, out, n); }, check, prepare);
    return run.finish();
}
