// The sum of an array, from one atomic per element to warps that reduce in registers. Blocks of 256 threads; SIZE is the
// number of elements, a multiple of 1024. -DREAL=int for integers.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <algorithm>

#include "common.h"

#ifndef REAL
#define REAL float
#endif
using Real = REAL;
namespace cg = cooperative_groups;
constexpr int kThreads = 256;
constexpr unsigned kAll = 0xffffffffu;

__global__ void atomic(Real* out, const Real* in, size_t n) {
    const size_t i = size_t(blockDim.x) * blockIdx.x + threadIdx.x;
    if (i < n) atomicAdd(out, in[i]);
}

__global__ void atomic_shared(Real* out, const Real* in, size_t n) {
    __shared__ Real sum;
    const size_t i = size_t(blockDim.x) * blockIdx.x + threadIdx.x;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    if (i < n) atomicAdd(&sum, in[i]);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(out, sum);
}

// Halves what is left until `last` sums are.
__device__ void fold(Real* sums, int last) {
    for (int half = blockDim.x / 2; half >= last; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
}

__global__ void tree(Real* out, const Real* in, size_t n) {
    extern __shared__ Real sums[];
    const size_t i = size_t(blockDim.x) * blockIdx.x + threadIdx.x;
    sums[threadIdx.x] = i < n ? in[i] : Real(0);
    fold(sums, 1);
    if (threadIdx.x == 0) atomicAdd(out, sums[0]);
}

// Neighbours first: in every step all warps have a few lanes with work.
__global__ void interleaved(Real* out, const Real* in, size_t n) {
    extern __shared__ Real sums[];
    const size_t i = size_t(blockDim.x) * blockIdx.x + threadIdx.x;
    sums[threadIdx.x] = i < n ? in[i] : Real(0);
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        if (threadIdx.x % (2 * stride) == 0) sums[threadIdx.x] += sums[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, sums[0]);
}

__global__ void shuffle(Real* out, const Real* in, size_t n) {
    extern __shared__ Real sums[];
    const size_t i = size_t(blockDim.x) * blockIdx.x + threadIdx.x;
    sums[threadIdx.x] = i < n ? in[i] : Real(0);
    fold(sums, 32);
    Real sum = sums[threadIdx.x];
    if (threadIdx.x < 32)
        for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_sync(kAll, sum, threadIdx.x + distance);
    if (threadIdx.x == 0) atomicAdd(out, sum);
}

// The last 64 sums by one warp, through shared memory, without a barrier.
__global__ void unrolled(Real* out, const Real* in, size_t n) {
    extern __shared__ Real sums[];
    const size_t i = size_t(blockDim.x) * blockIdx.x + threadIdx.x;
    sums[threadIdx.x] = i < n ? in[i] : Real(0);
    fold(sums, 64);
    __syncthreads();
    if (threadIdx.x < 32) {
        volatile Real* own = sums + threadIdx.x;
        for (int distance = 32; distance > 0; distance /= 2) {
            const Real sum = own[0] + own[distance];
            __syncwarp();
            own[0] = sum;
            __syncwarp();
        }
    }
    if (threadIdx.x == 0) atomicAdd(out, sums[0]);
}

// The last 64 sums by a cooperative group. kEach = 2: each thread also adds the element half an array away.
template <int kEach>
__global__ void groups(Real* out, const Real* in, size_t n) {
    extern __shared__ Real sums[];
    const size_t i = size_t(blockDim.x) * blockIdx.x + threadIdx.x;
    Real own = i < n / kEach ? in[i] : Real(0);
    if (kEach == 2) own += i + n / 2 < n ? in[i + n / 2] : Real(0);
    sums[threadIdx.x] = own;
    fold(sums, 64);
    __syncthreads();
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    if (warp.meta_group_rank() == 0) {
        Real sum = sums[warp.thread_rank()] + sums[warp.thread_rank() + 32];
        sum = cg::reduce(warp, sum, cg::plus<Real>());
        if (warp.thread_rank() == 0) atomicAdd(out, sum);
    }
}

#ifndef NO_VECTORS
// At most 4096 blocks walk over groups of four.
__global__ void vectors(Real* out, const Real* in, size_t n) {
    __shared__ Real sums[32];
    Real sum = 0;
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n / 4; i += size_t(gridDim.x) * blockDim.x) {
        const float4 four = reinterpret_cast<const float4*>(in)[i];
        sum += (four.x + four.y) + (four.z + four.w);
    }
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(kAll, sum, distance);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : Real(0);
        for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(kAll, sum, distance);
        if (threadIdx.x == 0) atomicAdd(out, sum);
    }
}
#endif

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {33554432}, {8192});
    const size_t n = run.size(0);
    chain::Array<Real> in(n), out(1);
    std::vector<double> expected(1, 0.0);
    if (run.verify) {
        in.fill([](size_t i) { return static_cast<Real>(static_cast<int>(8 * chain::pattern(i, 1))); });
        for (Real value : in.host) expected[0] += value;
    }
    auto prepare = [&] { CHECK(cudaMemset(out, 0, sizeof(Real))); };
    auto check = [&] { return chain::close(out, expected, 1e-4, 100.0); };
    const int blocks = chain::ceil_div(n, kThreads);
    const size_t bytes = kThreads * sizeof(Real);
    run.variant("atomic", [&] { atomic<<<blocks, kThreads>>>(out, in, n); }, check, prepare);
    run.variant("atomic_shared", [&] { atomic_shared<<<blocks, kThreads>>>(out, in, n); }, check, prepare);
    run.variant("interleaved", [&] { interleaved<<<blocks, kThreads, bytes>>>(out, in, n); }, check, prepare);
    run.variant("tree", [&] { tree<<<blocks, kThreads, bytes>>>(out, in, n); }, check, prepare);
    run.variant("shuffle", [&] { shuffle<<<blocks, kThreads, bytes>>>(out, in, n); }, check, prepare);
    run.variant("unrolled", [&] { unrolled<<<blocks, kThreads, bytes>>>(out, in, n); }, check, prepare);
    run.variant("groups", [&] { groups<1><<<blocks, kThreads, bytes>>>(out, in, n); }, check, prepare);
    run.variant("groups_two", [&] { groups<2><<<blocks / 2, kThreads, bytes>>>(out, in, n); }, check, prepare);
#ifndef NO_VECTORS
    const int few = std::min(chain::ceil_div(n / 4, kThreads), 4096);
    run.variant("vectors", [&] { vectors<<<few, kThreads>>>(out, in, n); }, check, prepare);
#endif
    return run.finish();
}
