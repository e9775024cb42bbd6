// Transposing a square matrix of floats: direct, through tiles in shared memory, with several rows of a tile per
// thread, and with loads and stores of two or four floats. SIZE, the number of rows, is a multiple of 64.
#include "common.h"

__global__ void direct(const float* __restrict__ in, float* __restrict__ out, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n) out[x * n + y] = in[y * n + x];
}

// One element per thread. kPad = 1 shifts each row of the tile by a bank.
template <int kPad>
__global__ void tiled(const float* __restrict__ in, float* __restrict__ out, int n) {
    constexpr int kTile = 32;
    __shared__ float tile[kTile][kTile + kPad];
    int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
    if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    x = blockIdx.y * kTile + threadIdx.x;
    y = blockIdx.x * kTile + threadIdx.y;
    if (x < n && y < n) out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}

template <int kCount> struct Vector;
template <> struct Vector<1> { using Type = float; };
template <> struct Vector<2> { using Type = float2; };
template <> struct Vector<4> { using Type = float4; };

// Padded tiles of kTile x kTile floats; a block has kRows rows of threads, each thread moves kVector floats at a time.
template <int kTile, int kVector, int kRows>
__global__ void wide(const float* __restrict__ in, float* __restrict__ out, int n) {
    using Type = typename Vector<kVector>::Type;
    __shared__ float tile[kTile][kTile + 1];
    const int width = n / kVector, column = threadIdx.x * kVector;
    int x = blockIdx.x * (kTile / kVector) + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
#pragma unroll
    for (int row = 0; row < kTile; row += kRows) {
        const Type value = reinterpret_cast<const Type*>(in)[(y + row) * width + x];
#pragma unroll
        for (int k = 0; k < kVector; ++k) tile[threadIdx.y + row][column + k] = reinterpret_cast<const float*>(&value)[k];
    }
    __syncthreads();
    x = blockIdx.y * (kTile / kVector) + threadIdx.x;
    y = blockIdx.x * kTile + threadIdx.y;
#pragma unroll
    for (int row = 0; row < kTile; row += kRows) {
        Type value;
#pragma unroll
        for (int k = 0; k < kVector; ++k) reinterpret_cast<float*>(&value)[k] = tile[column + k][threadIdx.y + row];
        reinterpret_cast<Type*>(out)[(y + row) * width + x] = value;
    }
}

template <int kTile, int kVector, int kRows>
void launch_wide(const float* in, float* out, int n) {
    wide<kTile, kVector, kRows><<<dim3(n / kTile, n / kTile), dim3(kTile / kVector, kRows)>>>(in, out, n);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {32768}, {128});
    const int n = static_cast<int>(run.size(0));
    chain::Array<float> in(size_t(n) * n), out(size_t(n) * n);
    std::vector<float> expected;
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        expected.resize(in.count);
        for (int y = 0; y < n; ++y)
            for (int x = 0; x < n; ++x) expected[size_t(x) * n + y] = in.host[size_t(y) * n + x];
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto check = [&] { return chain::close(out, expected, 0.0); };
    const dim3 block(32, 32), grid(n / 32, n / 32);
    run.variant("direct", [&] { direct<<<grid, block>>>(in, out, n); }, check, prepare);
    run.variant("tiled", [&] { tiled<0><<<grid, block>>>(in, out, n); }, check, prepare);
    run.variant("tiled_padded", [&] { tiled<1><<<grid, block>>>(in, out, n); }, check, prepare);
    run.variant("rows_2", [&] { launch_wide<32, 1, 16>(in, out, n); }, check, prepare);
    run.variant("rows_4", [&] { launch_wide<32, 1, 8>(in, out, n); }, check, prepare);
    run.variant("rows_8", [&] { launch_wide<32, 1, 4>(in, out, n); }, check, prepare);
    run.variant("float2", [&] { launch_wide<32, 2, 32>(in, out, n); }, check, prepare);
    run.variant("float2_rows_4", [&] { launch_wide<32, 2, 8>(in, out, n); }, check, prepare);
    run.variant("float4", [&] { launch_wide<32, 4, 32>(in, out, n); }, check, prepare);
    run.variant("float4_rows_4", [&] { launch_wide<32, 4, 8>(in, out, n); }, check, prepare);
    run.variant("float2_tile_64", [&] { launch_wide<64, 2, 32>(in, out, n); }, check, prepare);
    run.variant("float2_tile_64_rows_4", [&] { launch_wide<64, 2, 16>(in, out, n); }, check, prepare);
    run.variant("float4_tile_64", [&] { launch_wide<64, 4, 32>(in, out, n); }, check, prepare);
    run.variant("float4_tile_64_rows_8", [&] { launch_wide<64, 4, 8>(in, out, n); }, check, prepare);
    return run.finish();
}
