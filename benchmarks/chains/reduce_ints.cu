// Summing integers: the first pass, which leaves one sum per block of 256, in the seven classical steps. SIZE is the
// number of integers (a multiple of 512).
#include "common.h"

constexpr int kThreads = 256;

// Pairs at distance 1, 2, 4 ...
__global__ void divergent(int* in, int* out) {
    extern __shared__ int sums[];
    const unsigned thread = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[thread] = in[i];
    __syncthreads();
    for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
        if (thread % (2 * distance) == 0) sums[thread] += sums[thread + distance];
        __syncthreads();
    }
    if (thread == 0) out[blockIdx.x] = sums[0];
}

// The same pairs by neighbouring threads.
__global__ void bank_conflicts(int* in, int* out) {
    extern __shared__ int sums[];
    const unsigned thread = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[thread] = in[i];
    __syncthreads();
    for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
        const int index = 2 * distance * thread;
        if (index + distance < blockDim.x) sums[index] += sums[index + distance];
        __syncthreads();
    }
    if (thread == 0) out[blockIdx.x] = sums[0];
}

// Halves folded onto each other.
__global__ void folded(int* in, int* out) {
    extern __shared__ int sums[];
    const unsigned thread = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[thread] = in[i];
    __syncthreads();
    for (unsigned distance = blockDim.x / 2; distance > 0; distance >>= 1) {
        if (thread < distance) sums[thread] += sums[thread + distance];
        __syncthreads();
    }
    if (thread == 0) out[blockIdx.x] = sums[0];
}

// Two elements added while they are loaded.
__global__ void two_loads(int* in, int* out) {
    extern __shared__ int sums[];
    const unsigned thread = threadIdx.x, i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
    sums[thread] = in[i] + in[i + blockDim.x];
    __syncthreads();
    for (unsigned distance = blockDim.x / 2; distance > 0; distance >>= 1) {
        if (thread < distance) sums[thread] += sums[thread + distance];
        __syncthreads();
    }
    if (thread == 0) out[blockIdx.x] = sums[0];
}

// The first warp alone, in step, so that no barrier is needed.
__device__ void fold_warp(volatile int* sums, int thread) {
    sums[thread] += sums[thread + 32];
    sums[thread] += sums[thread + 16];
    sums[thread] += sums[thread + 8];
    sums[thread] += sums[thread + 4];
    sums[thread] += sums[thread + 2];
    sums[thread] += sums[thread + 1];
}

__global__ void last_warp(int* in, int* out) {
    extern __shared__ int sums[];
    const unsigned thread = threadIdx.x, i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
    sums[thread] = in[i] + in[i + blockDim.x];
    __syncthreads();
    for (unsigned distance = blockDim.x / 2; distance > 32; distance >>= 1) {
        if (thread < distance) sums[thread] += sums[thread + distance];
        __syncthreads();
    }
    if (thread < 32) fold_warp(sums, thread);
    if (thread == 0) out[blockIdx.x] = sums[0];
}

// What remains when the size of the block is known: two folds with barriers, then the warp.
__device__ void fold_block(int* sums, unsigned thread) {
    if (thread < 128) sums[thread] += sums[thread + 128];
    __syncthreads();
    if (thread < 64) sums[thread] += sums[thread + 64];
    __syncthreads();
    if (thread < 32) fold_warp(sums, thread);
}

__global__ void unrolled(int* in, int* out) {
    extern __shared__ int sums[];
    const unsigned thread = threadIdx.x, i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
    sums[thread] = in[i] + in[i + blockDim.x];
    __syncthreads();
    fold_block(sums, thread);
    if (thread == 0) out[blockIdx.x] = sums[0];
}

// Each thread walks over the array in steps of the grid, adding up in shared memory.
__global__ void grid_stride(int* in, int* out, unsigned n) {
    extern __shared__ int sums[];
    const unsigned thread = threadIdx.x, step = blockDim.x * 2 * gridDim.x;
    unsigned i = blockIdx.x * (kThreads * 2) + thread;
    sums[thread] = 0;
    while (i < n) {
        sums[thread] += in[i] + in[i + kThreads];
        i += step;
    }
    __syncthreads();
    fold_block(sums, thread);
    if (thread == 0) out[blockIdx.x] = sums[0];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4194304}, {8192});
    const int n = static_cast<int>(run.size(0)), blocks = n / kThreads, halved = n / (2 * kThreads);
    chain::Array<int> in(n), out(blocks);
    std::vector<int> singly(blocks), doubly(halved);
    if (run.verify) {
        in.fill([](size_t i) { return int(100.0f * chain::pattern(i, 1)); });
        for (int i = 0; i < n; ++i) {
            singly[i / kThreads] += in.host[i];
            doubly[i / (2 * kThreads)] += in.host[i];
        }
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto check = [&] { return chain::close(out, singly, 0.0); };
    auto check_halved = [&] { return chain::close(out, doubly, 0.0); };
    const size_t bytes = kThreads * sizeof(int);
    run.variant("divergent", [&] { divergent<<<blocks, kThreads, bytes>>>(in, out); }, check, prepare);
    run.variant("bank_conflicts", [&] { bank_conflicts<<<blocks, kThreads, bytes>>>(in, out); }, check, prepare);
    run.variant("folded", [&] { folded<<<blocks, kThreads, bytes>>>(in, out); }, check, prepare);
    run.variant("two_loads", [&] { two_loads<<<halved, kThreads, bytes>>>(in, out); }, check_halved, prepare);
    run.variant("last_warp", [&] { last_warp<<<halved, kThreads, bytes>>>(in, out); }, check_halved, prepare);
    run.variant("unrolled", [&] { unrolled<<<halved, kThreads, bytes>>>(in, out); }, check_halved, prepare);
    run.variant("grid_stride", [&] { grid_stride<<<halved, kThreads, bytes>>>(in, out, n); }, check_halved, prepare);
    return run.finish();
}
