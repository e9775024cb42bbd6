// Matrix product C = alpha A B + beta C of row-major matrices, from uncoalesced accesses to warp tiles of register
// tiles, every step with and without 16-byte accesses. Indices are 64 bits wide and every global access is guarded.
// SIZE is the number of rows and columns; -DREAL=__half for half precision, which adds tensor cores (v07).
#include <cuda_fp16.h>
#include <mma.h>

#include "common.h"

#ifndef REAL
#define REAL float
#endif
using Real = REAL;
using Size = size_t;
constexpr Size kVector = sizeof(int4) / sizeof(Real);

struct Problem {
    Size m, n, k;
    Real alpha;
    const Real* a;
    Size lda;
    const Real* b;
    Size ldb;
    Real beta;
    Real* c;
    Size ldc;
};

// --- shared-memory tiles ---------------------------------------------------------------------------------------

// A kRows x kColumns tile whose first element is (row0, column0) of a rows x columns matrix; what lies outside is 0.
template <Size kRows, Size kColumns, Size kThreads, bool kTransposed, Size kPitch>
__device__ void load_tile(const Real* from, Size pitch, Size row0, Size column0, Size rows, Size columns, Size thread,
                          Real (*to)[kPitch]) {
#pragma unroll
    for (Size step = 0; step < (kRows * kColumns + kThreads - 1) / kThreads; ++step) {
        Size row = (thread + step * kThreads) / kColumns, column = (thread + step * kThreads) % kColumns;
        Real value = static_cast<Real>(0);
        if (row0 + row < rows && column0 + column < columns) value = from[(row0 + row) * pitch + column0 + column];
        if (kTransposed) to[column][row] = value;
        else to[row][column] = value;
    }
}

// The same by 16 bytes. Threads beyond the tile load, too, and throw away what they got: only the store to shared
// memory is guarded by the tile's bounds.
template <Size kRows, Size kColumns, Size kThreads, bool kTransposed, Size kPitch>
__device__ void load_tile_vectors(const Real* from, Size pitch, Size row0, Size column0, Size rows, Size columns,
                                  Size thread, Real (*to)[kPitch]) {
    constexpr Size kAcross = kColumns / kVector;
#pragma unroll
    for (Size step = 0; step < (kRows * kAcross + kThreads - 1) / kThreads; ++step) {
        Size row = (thread + step * kThreads) / kAcross, column = (thread + step * kThreads) % kAcross * kVector;
        int4 values{0, 0, 0, 0};
        if (row0 + row < rows && column0 + column < columns)
            values = *reinterpret_cast<const int4*>(&from[(row0 + row) * pitch + column0 + column]);
        if (column0 + column + kVector > columns) {
            Size outside = column0 + column + kVector - columns;
            for (Size i = 0; i < outside; ++i) reinterpret_cast<Real*>(&values)[kVector - 1 - i] = static_cast<Real>(0);
        }
        if (row < kRows && column < kColumns) {
            if (kTransposed) {
                for (Size i = 0; i < kVector; ++i) to[column + i][row] = reinterpret_cast<const Real*>(&values)[i];
            } else {
                *reinterpret_cast<int4*>(&to[row][column]) = values;
            }
        }
    }
}

template <Size kBlockX, Size kBlockY, Size kBlockK, Size kThreads, bool kVectors, bool kTransposed, Size kPitchA,
          Size kPitchB>
__device__ void load_tiles(const Problem& p, Size step, Size thread, Real (*a)[kPitchA], Real (*b)[kPitchB]) {
    Size row = blockIdx.y * kBlockY, column = blockIdx.x * kBlockX, depth = step * kBlockK;
    if (kVectors) {
        load_tile_vectors<kBlockY, kBlockK, kThreads, kTransposed>(p.a, p.lda, row, depth, p.m, p.k, thread, a);
        load_tile_vectors<kBlockK, kBlockX, kThreads, false>(p.b, p.ldb, depth, column, p.k, p.n, thread, b);
    } else {
        load_tile<kBlockY, kBlockK, kThreads, kTransposed>(p.a, p.lda, row, depth, p.m, p.k, thread, a);
        load_tile<kBlockK, kBlockX, kThreads, false>(p.b, p.ldb, depth, column, p.k, p.n, thread, b);
    }
}

__device__ void store(const Problem& p, Size row, Size column, Real sum) {
    if (row < p.m && column < p.n)
        p.c[row * p.ldc + column] = p.alpha * sum + p.beta * p.c[row * p.ldc + column];
}

__device__ void store_vector(const Problem& p, Size row, Size column, const Real* sums) {
    if (row < p.m && column < p.n) {
        int4 values = *reinterpret_cast<const int4*>(&p.c[row * p.ldc + column]);
#pragma unroll
        for (Size i = 0; i < kVector; ++i) {
            Real& value = reinterpret_cast<Real*>(&values)[i];
            value = p.alpha * sums[i] + p.beta * value;
        }
        *reinterpret_cast<int4*>(&p.c[row * p.ldc + column]) = values;
    }
}

// --- the ladder ------------------------------------------------------------------------------------------------

// v00 and v01: a thread per result; kCoalesced decides whether the lanes of a warp share a row or a column.
template <bool kCoalesced>
__global__ void direct(Problem p) {
    Size x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    Size row = kCoalesced ? y : x, column = kCoalesced ? x : y;
    if (row < p.m && column < p.n) {
        Real sum = static_cast<Real>(0);
        for (Size k = 0; k < p.k; ++k) sum += p.a[row * p.lda + k] * p.b[k * p.ldb + column];
        p.c[row * p.ldc + column] = p.alpha * sum + p.beta * p.c[row * p.ldc + column];
    }
}

// v02: 32 x 32 tiles in shared memory.
template <bool kVectors>
__global__ void tiled(Problem p) {
    constexpr Size kTile = 32;
    __shared__ __align__(16) Real a[kTile][kTile];
    __shared__ __align__(16) Real b[kTile][kTile];
    Size thread = threadIdx.y * blockDim.x + threadIdx.x;
    Size column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    Real sum = static_cast<Real>(0);
    Size steps = (p.k + kTile - 1) / kTile;
    for (Size step = 0; step < steps; ++step) {
        load_tiles<kTile, kTile, kTile, kTile * kTile, kVectors, false>(p, step, thread, a, b);
        __syncthreads();
#pragma unroll
        for (Size k = 0; k < kTile; ++k) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    store(p, row, column, sum);
}

// v03: 64 x 64 x 8 tiles, 512 threads, a column of 8 results each.
template <bool kVectors>
__global__ void column_of_results(Problem p) {
    constexpr Size kX = 64, kY = 64, kK = 8, kEach = 8, kThreads = kX * kY / kEach;
    __shared__ __align__(16) Real a[kY][kK];
    __shared__ __align__(16) Real b[kK][kX];
    Size thread = threadIdx.y * blockDim.x + threadIdx.x, column = thread % kX, row = thread / kX * kEach;
    Real sums[kEach] = {static_cast<Real>(0)};
    Size steps = (p.k + kK - 1) / kK;
    for (Size step = 0; step < steps; ++step) {
        load_tiles<kX, kY, kK, kThreads, kVectors, false>(p, step, thread, a, b);
        __syncthreads();
#pragma unroll
        for (Size k = 0; k < kK; ++k) {
            Real of_b = b[k][column];
#pragma unroll
            for (Size i = 0; i < kEach; ++i) sums[i] += a[row + i][k] * of_b;
        }
        __syncthreads();
    }
#pragma unroll
    for (Size i = 0; i < kEach; ++i) store(p, blockIdx.y * kY + row + i, blockIdx.x * kX + column, sums[i]);
}

// v04 to v06: 128 x 128 x 16 tiles, 256 threads, 8 x 8 results each. kTransposed keeps A transposed in shared memory
// (v05, v06); with kWarps the threads of a warp form a 64 x 32 tile (v06). A 16-byte variant vectorises reads of B
// and, where A is transposed, of A and the loads from global memory.
template <bool kTransposed, bool kWarps, bool kVectors>
__global__ void square_of_results(Problem p) {
    constexpr Size kX = 128, kY = 128, kK = 16, kEach = 8, kThreads = kX * kY / (kEach * kEach);
    constexpr Size kRowsA = kTransposed ? kK : kY, kPitchA = kTransposed ? kY : kK;
    __shared__ __align__(16) Real a[kRowsA][kPitchA];
    __shared__ __align__(16) Real b[kK][kX];
    Size thread = threadIdx.y * blockDim.x + threadIdx.x, row, column;
    if (kWarps) {
        Size warp = thread / 32, lane = thread % 32;
        row = warp / (kX / 32) * 64 + lane / 4 * kEach;
        column = warp % (kX / 32) * 32 + lane % 4 * kEach;
    } else {
        row = thread / (kX / kEach) * kEach;
        column = thread % (kX / kEach) * kEach;
    }
    Real sums[kEach][kEach] = {static_cast<Real>(0)};
    __align__(16) Real of_a[kEach] = {static_cast<Real>(0)};
    __align__(16) Real of_b[kEach] = {static_cast<Real>(0)};
    Size steps = (p.k + kK - 1) / kK;
    for (Size step = 0; step < steps; ++step) {
        load_tiles<kX, kY, kK, kThreads, kVectors && kTransposed, kTransposed>(p, step, thread, a, b);
        __syncthreads();
#pragma unroll
        for (Size k = 0; k < kK; ++k) {
            if (kVectors && kTransposed) {
#pragma unroll
                for (Size i = 0; i < kEach; i += kVector)
                    *reinterpret_cast<int4*>(&of_a[i]) = *reinterpret_cast<const int4*>(&a[k][row + i]);
            } else {
#pragma unroll
                for (Size i = 0; i < kEach; ++i) of_a[i] = kTransposed ? a[k][row + i] : a[row + i][k];
            }
            if (kVectors) {
#pragma unroll
                for (Size j = 0; j < kEach; j += kVector)
                    *reinterpret_cast<int4*>(&of_b[j]) = *reinterpret_cast<const int4*>(&b[k][column + j]);
            } else {
#pragma unroll
                for (Size j = 0; j < kEach; ++j) of_b[j] = b[k][column + j];
            }
#pragma unroll
            for (Size i = 0; i < kEach; ++i)
#pragma unroll
                for (Size j = 0; j < kEach; ++j) sums[i][j] += of_a[i] * of_b[j];
        }
        __syncthreads();
    }
    row += blockIdx.y * kY;
    column += blockIdx.x * kX;
#pragma unroll
    for (Size i = 0; i < kEach; ++i) {
        if (kVectors) {
#pragma unroll
            for (Size j = 0; j < kEach; j += kVector) store_vector(p, row + i, column + j, &sums[i][j]);
        } else {
#pragma unroll
            for (Size j = 0; j < kEach; ++j) store(p, row + i, column + j, sums[i][j]);
        }
    }
}

#ifdef HALF
// v07: the tiles of v06, 16 elements of padding per row, and 4 x 2 products of 16 x 16 x 16 per warp and step.
template <bool kVectors>
__global__ void tensor_cores(Problem p) {
    namespace wmma = nvcuda::wmma;
    constexpr Size kX = 128, kY = 128, kK = 16, kPad = 16, kWarpX = 32, kWarpY = 64, kFragment = 16, kThreads = 256;
    constexpr Size kAcross = kWarpX / kFragment, kDown = kWarpY / kFragment;
    __shared__ __align__(32) Real a[kK][kY + kPad];
    __shared__ __align__(32) Real b[kK][kX + kPad];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, Real, wmma::col_major> of_a[kDown];
    wmma::fragment<wmma::matrix_b, 16, 16, 16, Real, wmma::row_major> of_b[kAcross];
    wmma::fragment<wmma::accumulator, 16, 16, 16, Real> sums[kDown][kAcross], old;
#pragma unroll
    for (Size i = 0; i < kDown; ++i)
#pragma unroll
        for (Size j = 0; j < kAcross; ++j) wmma::fill_fragment(sums[i][j], static_cast<Real>(0));
    Size thread = threadIdx.x, warp = thread / 32;
    Size row = warp / (kX / kWarpX) * kWarpY, column = warp % (kX / kWarpX) * kWarpX;
    Size steps = (p.k + kK - 1) / kK;
    for (Size step = 0; step < steps; ++step) {
        load_tiles<kX, kY, kK, kThreads, kVectors, true>(p, step, thread, a, b);
        __syncthreads();
#pragma unroll
        for (Size i = 0; i < kDown; ++i)
            wmma::load_matrix_sync(of_a[i], &a[0][row + i * kFragment], kY + kPad);
#pragma unroll
        for (Size j = 0; j < kAcross; ++j)
            wmma::load_matrix_sync(of_b[j], &b[0][column + j * kFragment], kX + kPad);
#pragma unroll
        for (Size i = 0; i < kDown; ++i)
#pragma unroll
            for (Size j = 0; j < kAcross; ++j) wmma::mma_sync(sums[i][j], of_a[i], of_b[j], sums[i][j]);
        __syncthreads();
    }
#pragma unroll
    for (Size i = 0; i < kDown; ++i)
#pragma unroll
        for (Size j = 0; j < kAcross; ++j) {
            Real* c = &p.c[(blockIdx.y * kY + row + i * kFragment) * p.n + blockIdx.x * kX + column + j * kFragment];
            wmma::load_matrix_sync(old, c, p.n, wmma::mem_row_major);
            for (Size e = 0; e < old.num_elements; ++e) old.x[e] = p.alpha * sums[i][j].x[e] + p.beta * old.x[e];
            wmma::store_matrix_sync(c, old, p.n, wmma::mem_row_major);
        }
}
#endif

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096}, {128});
    const Size n = run.size(0);
    chain::Array<Real> a(n * n), b(n * n), c(n * n);
    std::vector<float> product(run.verify ? n * n : 0);
    if (run.verify) {
        // Few significant bits, so that half precision adds them exactly.
        auto coarse = [](unsigned seed) { return [seed](size_t i) { return std::floor(4 * chain::pattern(i, seed)) / 4; }; };
        a.fill(coarse(1));
        b.fill(coarse(2));
        for (Size i = 0; i < n; ++i)
            for (Size k = 0; k < n; ++k)
                for (Size j = 0; j < n; ++j)
                    product[i * n + j] += float(a.host[i * n + k]) * float(b.host[k * n + j]);
    }
    const Problem p{n, n, n, Real(1.0f), a, n, b, n, Real(0.0f), c, n};
    auto prepare = [&] { if (run.verify) CHECK(cudaMemset(c, 0, n * n * sizeof(Real))); };
    auto check = [&] { return chain::close(c, product, 1e-3, 1.0); };
    const dim3 by32(chain::ceil_div(n, 32), chain::ceil_div(n, 32)), square(32, 32);
    const dim3 by64(chain::ceil_div(n, 64), chain::ceil_div(n, 64)), by128(chain::ceil_div(n, 128), chain::ceil_div(n, 128));

    run.variant("v00", [&] { direct<false><<<by32, square>>>(p); }, check, prepare);
    run.variant("v01", [&] { direct<true><<<by32, square>>>(p); }, check, prepare);
    run.variant("v02", [&] { tiled<false><<<by32, square>>>(p); }, check, prepare);
    run.variant("v02_vectors", [&] { tiled<true><<<by32, square>>>(p); }, check, prepare);
    run.variant("v03", [&] { column_of_results<false><<<by64, 512>>>(p); }, check, prepare);
    run.variant("v03_vectors", [&] { column_of_results<true><<<by64, 512>>>(p); }, check, prepare);
    run.variant("v04", [&] { square_of_results<false, false, false><<<by128, 256>>>(p); }, check, prepare);
    run.variant("v04_vectors", [&] { square_of_results<false, false, true><<<by128, 256>>>(p); }, check, prepare);
    run.variant("v05", [&] { square_of_results<true, false, false><<<by128, 256>>>(p); }, check, prepare);
    run.variant("v05_vectors", [&] { square_of_results<true, false, true><<<by128, 256>>>(p); }, check, prepare);
    run.variant("v06", [&] { square_of_results<true, true, false><<<by128, 256>>>(p); }, check, prepare);
    run.variant("v06_vectors", [&] { square_of_results<true, true, true><<<by128, 256>>>(p); }, check, prepare);
#ifdef HALF
    run.variant("v07", [&] { tensor_cores<false><<<by128, 256>>>(p); }, check, prepare);
    run.variant("v07_vectors", [&] { tensor_cores<true><<<by128, 256>>>(p); }, check, prepare);
#endif
    return run.finish();
}
