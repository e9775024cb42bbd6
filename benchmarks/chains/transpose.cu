// Transposing a square matrix, from a plain copy to padded shared-memory tiles.
// Blocks of 32 x 32 threads, one element each; SIZE is the number of rows. -DREAL=double for double precision.
#include "common.h"

#ifndef REAL
#define REAL float
#endif
using Real = REAL;
constexpr int kTile = 32;

__global__ void copy(const Real* in, Real* out, int n) {
    int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
    if (x < n && y < n) out[y * n + x] = in[y * n + x];
}

__global__ void strided_write(const Real* in, Real* out, int n) {
    int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
    if (x < n && y < n) out[x * n + y] = in[y * n + x];
}

__global__ void strided_read(const Real* in, Real* out, int n) {
    int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
    if (x < n && y < n) out[y * n + x] = in[x * n + y];
}

__global__ void strided_read_ldg(const Real* in, Real* out, int n) {
    int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
    if (x < n && y < n) out[y * n + x] = __ldg(&in[x * n + y]);
}

// A tile goes through shared memory; kPad = 1 shifts each row by a bank.
template <int kPad>
__global__ void tiled(const Real* in, Real* out, int n) {
    __shared__ Real tile[kTile][kTile + kPad];
    int left = blockIdx.x * kTile, top = blockIdx.y * kTile;
    int x = left + threadIdx.x, y = top + threadIdx.y;
    if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    int column = top + threadIdx.x, row = left + threadIdx.y;
    if (row < n && column < n) out[row * n + column] = tile[threadIdx.x][threadIdx.y];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {10000}, {100});
    const int n = static_cast<int>(run.size(0));
    chain::Array<Real> in(size_t(n) * n), out(size_t(n) * n);
    std::vector<Real> transposed;
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        transposed.resize(in.count);
        for (int y = 0; y < n; ++y)
            for (int x = 0; x < n; ++x) transposed[size_t(x) * n + y] = in.host[size_t(y) * n + x];
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto is_transposed = [&] { return chain::close(out, transposed, 0.0); };
    const dim3 block(kTile, kTile), grid(chain::ceil_div(n, kTile), chain::ceil_div(n, kTile));

    run.variant("copy", [&] { copy<<<grid, block>>>(in, out, n); },
                [&] { return chain::close(out, in.host, 0.0); }, prepare);
    run.variant("strided_write", [&] { strided_write<<<grid, block>>>(in, out, n); }, is_transposed, prepare);
    run.variant("strided_read", [&] { strided_read<<<grid, block>>>(in, out, n); }, is_transposed, prepare);
    run.variant("strided_read_ldg", [&] { strided_read_ldg<<<grid, block>>>(in, out, n); }, is_transposed, prepare);
    run.variant("tiled_conflicts", [&] { tiled<0><<<grid, block>>>(in, out, n); }, is_transposed, prepare);
    run.variant("tiled_padded", [&] { tiled<1><<<grid, block>>>(in, out, n); }, is_transposed, prepare);
    return run.finish();
}
