// The sum of an array, added up by one atomic per block (or per element). Blocks of 256 threads unless a thread takes
// four elements at a time. SIZE is the number of elements, a multiple of 2048.
#include "common.h"

constexpr int kThreads = 256;
constexpr unsigned kAll = 0xffffffffu;

__global__ void atomic(size_t n, const float* __restrict__ in, float* __restrict__ out) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(out, in[i]);
}

__global__ void tree(const float* __restrict__ in, float* __restrict__ out) {
    extern __shared__ float sums[];
    const size_t thread = threadIdx.x;
    sums[thread] = in[size_t(blockIdx.x) * blockDim.x + thread];
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (thread < half) sums[thread] += sums[thread + half];
        __syncthreads();
    }
    if (thread == 0) atomicAdd(out, sums[0]);
}

// The last 64 sums by one warp without barriers.
__device__ __forceinline__ void last_warp(float* sums, unsigned thread) {
    float own = sums[thread];
#pragma unroll
    for (unsigned half = 32; half > 0; half /= 2) {
        own += sums[thread + half];
        __syncwarp();
        sums[thread] = own;
        __syncwarp();
    }
}

__global__ void tail(const float* __restrict__ in, float* __restrict__ out) {
    extern __shared__ float sums[];
    const size_t thread = threadIdx.x;
    sums[thread] = in[size_t(blockIdx.x) * blockDim.x + thread];
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 32; half /= 2) {
        if (thread < half) sums[thread] += sums[thread + half];
        __syncthreads();
    }
    if (thread < 32) last_warp(sums, thread);
    if (thread == 0) atomicAdd(out, sums[0]);
}

// Eight slices of a block's width each, and all loops unrolled.
template <unsigned kSlices>
__global__ void slices(const float* __restrict__ in, float* __restrict__ out) {
    extern __shared__ float sums[];
    const unsigned thread = threadIdx.x;
    float sum = 0.0f;
#pragma unroll
    for (unsigned i = 0; i < kSlices; ++i) {
        sum += in[(blockIdx.x * kSlices + i) * kThreads + thread];
        __threadfence_block();
    }
    sums[thread] = sum;
    __syncthreads();
#pragma unroll
    for (unsigned half = kThreads / 2; half > 32; half /= 2) {
        if (thread < half) sums[thread] += sums[thread + half];
        __syncthreads();
    }
    if (thread < 32) last_warp(sums, thread);
    if (thread == 0) atomicAdd(out, sums[0]);
}

__device__ float warp_sum(float value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(kAll, value, distance);
    return value;
}

// kEach = 4: vectors of four, by a quarter of the threads.
template <int kEach>
__global__ void shuffles(const float* __restrict__ in, float* __restrict__ out, int n) {
    constexpr int kWarps = kThreads / kEach / 32;
    __shared__ float of_warps[kWarps];
    const int first = (blockIdx.x * (kThreads / kEach) + threadIdx.x) * kEach;
    float sum = 0.0f;
    if (first < n) {
        if (kEach == 4) {
            const float4 four = *reinterpret_cast<const float4*>(in + first);
            sum = four.x + four.y + four.z + four.w;
        } else {
            sum = in[first];
        }
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = warp_sum(threadIdx.x < kWarps ? of_warps[threadIdx.x] : 0.0f);
        if (threadIdx.x == 0) atomicAdd(out, sum);
    }
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 26}, {1 << 14});
    const size_t n = run.size(0);
    chain::Array<float> in(n), out(1);
    std::vector<double> expected(1, 0.0);
    if (run.verify) {
        in.fill([](size_t i) { return static_cast<float>(static_cast<int>(8 * chain::pattern(i, 1))); });
        for (float value : in.host) expected[0] += value;
    }
    auto prepare = [&] { CHECK(cudaMemset(out, 0, sizeof(float))); };
    auto check = [&] { return chain::close(out, expected, 1e-4, 100.0); };
    const int blocks = chain::ceil_div(n, kThreads), bytes = kThreads * sizeof(float);
    run.variant("atomic", [&] { atomic<<<blocks, kThreads>>>(n, in, out); }, check, prepare);
    run.variant("tree", [&] { tree<<<blocks, kThreads, bytes>>>(in, out); }, check, prepare);
    run.variant("tail", [&] { tail<<<blocks, kThreads, bytes>>>(in, out); }, check, prepare);
    run.variant("slices", [&] { slices<8><<<blocks / 8, kThreads, bytes>>>(in, out); }, check, prepare);
    run.variant("shuffles", [&] { shuffles<1><<<blocks, kThreads>>>(in, out, n); }, check, prepare);
    run.variant("shuffles_vectors", [&] { shuffles<4><<<blocks, kThreads / 4>>>(in, out, n); }, check, prepare);
    return run.finish();
}
