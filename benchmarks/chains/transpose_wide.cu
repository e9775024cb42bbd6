// Transposing a square matrix of floats in tiles of 32 rows and 64 or 128 columns, 256 threads with eight or sixteen
// elements each: directly, with reads or writes in order, or through shared memory that is laid out in four ways.
// SIZE is the number of rows.
#include "common.h"

constexpr int kRows = 32, kThreads = 256;

// Lanes lie along a row of the input; eight warps take a row each.
template <int kColumns, class F>
__device__ void along_rows(int n, F each) {
#pragma unroll
    for (int i = 0; i < kRows; i += 8)
#pragma unroll
        for (int j = 0; j < kColumns; j += 32) {
            const int row = threadIdx.x / 32 + i, column = threadIdx.x % 32 + j;
            if (blockIdx.y * kRows + row < n && blockIdx.x * kColumns + column < n) each(row, column);
        }
}

// Lanes lie along a column of the input, which is a row of the output; eight warps take a column each.
template <int kColumns, class F>
__device__ void along_columns(int n, F each) {
#pragma unroll
    for (int j = 0; j < kColumns; j += 8) {
        const int row = threadIdx.x % 32, column = threadIdx.x / 32 + j;
        if (blockIdx.y * kRows + row < n && blockIdx.x * kColumns + column < n) each(row, column);
    }
}

template <bool kReadInOrder>
__global__ void direct(const float* in, float* out, int n) {
    constexpr int kColumns = 64;
    const int top = blockIdx.y * kRows, left = blockIdx.x * kColumns;
    auto move = [&](int row, int column) { out[(left + column) * n + top + row] = in[(top + row) * n + left + column]; };
    if (kReadInOrder) along_rows<kColumns>(n, move);
    else along_columns<kColumns>(n, move);
}

enum Layout { kRowMajor, kColumnMajor, kPadded, kSwizzled };

// Where an element of the tile lies in shared memory.
template <Layout kLayout, int kColumns>
__device__ int place(int row, int column) {
    if (kLayout == kColumnMajor) return column * kRows + row;
    if (kLayout == kPadded) return row * (kColumns + 1) + column;
    if (kLayout == kSwizzled) return row * kColumns + (column ^ row);
    return row * kColumns + column;
}

template <Layout kLayout, int kColumns>
__global__ void tiled(const float* in, float* out, int n) {
    __shared__ float tile[kRows * (kColumns + (kLayout == kPadded))];
    const int top = blockIdx.y * kRows, left = blockIdx.x * kColumns;
    along_rows<kColumns>(n, [&](int row, int column) {
        tile[place<kLayout, kColumns>(row, column)] = in[(top + row) * n + left + column];
    });
    __syncthreads();
    along_columns<kColumns>(n, [&](int row, int column) {
        out[(left + column) * n + top + row] = tile[place<kLayout, kColumns>(row, column)];
    });
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {16384}, {200});
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
    const int down = chain::ceil_div(n, kRows);
    const dim3 narrow(chain::ceil_div(n, 64), down), wide(chain::ceil_div(n, 128), down);
    run.variant("read_in_order", [&] { direct<true><<<narrow, kThreads>>>(in, out, n); }, check, prepare);
    run.variant("write_in_order", [&] { direct<false><<<narrow, kThreads>>>(in, out, n); }, check, prepare);
    run.variant("conflicts_reading", [&] { tiled<kRowMajor, 128><<<wide, kThreads>>>(in, out, n); }, check, prepare);
    run.variant("conflicts_writing", [&] { tiled<kColumnMajor, 128><<<wide, kThreads>>>(in, out, n); }, check, prepare);
    run.variant("padded", [&] { tiled<kPadded, 64><<<narrow, kThreads>>>(in, out, n); }, check, prepare);
    run.variant("swizzled", [&] { tiled<kSwizzled, 64><<<narrow, kThreads>>>(in, out, n); }, check, prepare);
    return run.finish();
}
