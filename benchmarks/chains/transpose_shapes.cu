// Transposes of a square fp32 matrix in tiles of 32 x 32: directly, through shared memory with conflicts or padded (of
// fixed size, or given at the launch), by blocks of 32 x 8 threads that take four rows each, and by blocks of 8 x 32
// that read four floats at a time. SIZE is the side, a multiple of 4.
#include "common.h"

constexpr int kTile = 32;

__global__ void direct(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
    const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
    if (x < width && y < height) out[x * height + y] = in[y * width + x];
}

template <int kPadding>
__global__ void tiled(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
    __shared__ float tile[kTile][kTile + kPadding];
    const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    const int column = blockIdx.y * kTile + threadIdx.x, row = blockIdx.x * kTile + threadIdx.y;
    if (column < height && row < width) out[row * height + column] = tile[threadIdx.x][threadIdx.y];
}

__global__ void given(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
    extern __shared__ float cells[];
    constexpr int kPitch = kTile + 1;
    const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
    if (x < width && y < height) cells[threadIdx.y * kPitch + threadIdx.x] = in[y * width + x];
    __syncthreads();
    const int column = blockIdx.y * kTile + threadIdx.x, row = blockIdx.x * kTile + threadIdx.y;
    if (column < height && row < width) out[row * height + column] = cells[threadIdx.x * kPitch + threadIdx.y];
}

__global__ void four_rows(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
    constexpr int kRows = 8;
    __shared__ float tile[kTile][kTile + 1];
    const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
#pragma unroll
    for (int j = 0; j < kTile; j += kRows)
        if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    const int column = blockIdx.y * kTile + threadIdx.x, row = blockIdx.x * kTile + threadIdx.y;
#pragma unroll
    for (int j = 0; j < kTile; j += kRows)
        if (column < height && row + j < width) out[(row + j) * height + column] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void direct_four_rows(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
    const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
    for (int j = 0; j < kTile; j += 8)
        if (x < width && y + j < height) out[x * height + y + j] = in[(y + j) * width + x];
}

__global__ void vectors(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
    __shared__ float tile[kTile][kTile + 1];
    const int first = 4 * threadIdx.x, x = blockIdx.x * kTile + first, y = blockIdx.y * kTile + threadIdx.y;
    if (x < width && y < height) {
        const float4 four = *reinterpret_cast<const float4*>(&in[y * width + x]);
        tile[threadIdx.y][first + 0] = four.x;
        tile[threadIdx.y][first + 1] = four.y;
        tile[threadIdx.y][first + 2] = four.z;
        tile[threadIdx.y][first + 3] = four.w;
    }
    __syncthreads();
    const int row = blockIdx.x * kTile + threadIdx.y;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int column = blockIdx.y * kTile + first + i;
        if (column < height && row < width) out[row * height + column] = tile[first + i][threadIdx.y];
    }
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {8192}, {100});
    const int n = static_cast<int>(run.size(0));
    chain::Array<float> in(size_t(n) * n), out(size_t(n) * n);
    std::vector<float> expected;
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        for (int row = 0; row < n; ++row)
            for (int column = 0; column < n; ++column) expected.push_back(in.host[size_t(column) * n + row]);
    }
    auto check = [&] { return chain::close(out, expected, 0.0); };
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    const dim3 grid(chain::ceil_div(n, kTile), chain::ceil_div(n, kTile)), whole(kTile, kTile), quarter(kTile, 8);
    const size_t bytes = kTile * (kTile + 1) * sizeof(float);
    run.variant("direct", [&] { direct<<<grid, whole>>>(in, out, n, n); }, check, prepare);
    run.variant("tiled", [&] { tiled<0><<<grid, whole>>>(in, out, n, n); }, check, prepare);
    run.variant("padded", [&] { tiled<1><<<grid, whole>>>(in, out, n, n); }, check, prepare);
    run.variant("given", [&] { given<<<grid, whole, bytes>>>(in, out, n, n); }, check, prepare);
    run.variant("four_rows", [&] { four_rows<<<grid, quarter>>>(in, out, n, n); }, check, prepare);
    run.variant("direct_four_rows", [&] { direct_four_rows<<<grid, quarter>>>(in, out, n, n); }, check, prepare);
    run.variant("vectors", [&] { vectors<<<grid, dim3(8, kTile)>>>(in, out, n, n); }, check, prepare);
    return run.finish();
}
