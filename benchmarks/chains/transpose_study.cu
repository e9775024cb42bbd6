// Transposing a square matrix of halves, by threads in one row and by tiles of several shapes. 64-bit indices; SIZE is the
// number of rows, a multiple of 64.
#include <cuda_fp16.h>

#include "common.h"

using Real = __half;

__global__ void copy(Real* out, const Real* in, size_t m, size_t n) {
    const size_t i = size_t(blockDim.x) * blockIdx.x + threadIdx.x, row = i / n, column = i % n;
    out[row * n + column] = in[row * n + column];
}

__global__ void strided_write(Real* out, const Real* in, size_t m, size_t n) {
    const size_t i = size_t(blockDim.x) * blockIdx.x + threadIdx.x, row = i / n, column = i % n;
    out[column * m + row] = in[row * n + column];
}

__global__ void strided_read(Real* out, const Real* in, size_t m, size_t n) {
    const size_t i = size_t(blockDim.x) * blockIdx.x + threadIdx.x, row = i % m, column = i / m;
    out[column * m + row] = in[row * n + column];
}

__global__ void strided_read_4(Real* out, const Real* in, size_t m, size_t n) {
    const size_t first = 4 * (size_t(blockDim.x) * blockIdx.x + threadIdx.x);
#pragma unroll
    for (size_t i = first; i < first + 4; ++i) {
        const size_t row = i % m, column = i / m;
        out[column * m + row] = in[row * n + column];
    }
}

__global__ void wide_write(Real* out, const Real* in, size_t m, size_t n) {
    constexpr size_t kEach = 8;
    const size_t first = kEach * (size_t(blockDim.x) * blockIdx.x + threadIdx.x);
    __align__(16) Real values[kEach];
#pragma unroll
    for (size_t i = 0; i < kEach; ++i) values[i] = in[(first + i) % m * n + (first + i) / m];
    *reinterpret_cast<float4*>(out + first) = *reinterpret_cast<const float4*>(values);
}

// kByColumns: a tile is turned when it is written to shared memory, else when it is read from there.
template <int kRows, int kColumns, bool kByColumns>
__global__ void tiled(Real* out, const Real* in, size_t m, size_t n) {
    __shared__ Real tile[kRows * kColumns];
    const size_t row = size_t(blockDim.y) * blockIdx.y + threadIdx.y, column = size_t(blockDim.x) * blockIdx.x + threadIdx.x;
    const size_t i = blockDim.x * threadIdx.y + threadIdx.x, across = i / blockDim.y, down = i % blockDim.y;
    tile[kByColumns ? threadIdx.x * kRows + threadIdx.y : threadIdx.y * kColumns + threadIdx.x] = in[row * n + column];
    __syncthreads();
    out[(blockDim.x * blockIdx.x + across) * m + blockDim.y * blockIdx.y + down] =
        tile[kByColumns ? across * kRows + down : down * kColumns + across];
}

// Two tiles side by side for each block.
template <int kRows, int kColumns>
__global__ void two_tiles(Real* out, const Real* in, size_t m, size_t n) {
    __shared__ Real tile[kRows * 2 * kColumns];
    const size_t row = size_t(blockDim.y) * blockIdx.y + threadIdx.y, column = 2ul * blockDim.x * blockIdx.x + threadIdx.x;
    const size_t i = blockDim.x * threadIdx.y + threadIdx.x, across = i / blockDim.y, down = i % blockDim.y;
    tile[threadIdx.y * 2 * kColumns + threadIdx.x] = in[row * n + column];
    tile[threadIdx.y * 2 * kColumns + threadIdx.x + kColumns] = in[row * n + column + kColumns];
    __syncthreads();
    const size_t to_row = 2ul * blockDim.x * blockIdx.x + across, to_column = size_t(blockDim.y) * blockIdx.y + down;
    out[to_row * m + to_column] = tile[down * 2 * kColumns + across];
    out[(to_row + blockDim.x) * m + to_column] = tile[down * 2 * kColumns + across + kColumns];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {8192}, {128});
    const size_t n = run.size(0);
    chain::Array<Real> in(n * n), out(n * n);
    std::vector<float> same, turned;
    if (run.verify) {
        in.fill([](size_t i) { return __float2half(static_cast<float>(static_cast<int>(64 * chain::pattern(i, 1)))); });
        same.resize(n * n);
        turned.resize(n * n);
        for (size_t i = 0; i < n * n; ++i) turned[i % n * n + i / n] = same[i] = __half2float(in.host[i]);
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto is_same = [&] { return chain::close(out, same, 0.0); };
    auto is_turned = [&] { return chain::close(out, turned, 0.0); };
    const int blocks = chain::ceil_div(n * n, 256);
    const unsigned by16 = n / 16, by32 = n / 32;
    run.variant("copy", [&] { copy<<<blocks, 256>>>(out, in, n, n); }, is_same, prepare);
    run.variant("strided_write", [&] { strided_write<<<blocks, 256>>>(out, in, n, n); }, is_turned, prepare);
    run.variant("strided_read", [&] { strided_read<<<blocks, 256>>>(out, in, n, n); }, is_turned, prepare);
    run.variant("strided_read_4", [&] { strided_read_4<<<blocks / 4, 256>>>(out, in, n, n); }, is_turned, prepare);
    run.variant("wide_write", [&] { wide_write<<<blocks / 8, 256>>>(out, in, n, n); }, is_turned, prepare);
    run.variant("tile_16", [&] { tiled<16, 16, false><<<dim3(by16, by16), dim3(16, 16)>>>(out, in, n, n); }, is_turned,
                prepare);
    run.variant("tile_16_columns", [&] { tiled<16, 16, true><<<dim3(by16, by16), dim3(16, 16)>>>(out, in, n, n); },
                is_turned, prepare);
    run.variant("tile_32x16_columns", [&] { tiled<32, 16, true><<<dim3(by16, by32), dim3(16, 32)>>>(out, in, n, n); },
                is_turned, prepare);
    run.variant("two_tiles", [&] { two_tiles<32, 16><<<dim3(by32, by32), dim3(16, 32)>>>(out, in, n, n); }, is_turned,
                prepare);
    return run.finish();
}
