// Summing integers with blocks of 512 threads: two launches or one with atomics, and from one to twelve elements per
// thread, singly or by 16 bytes. The memset that clears the result belongs to a launch. SIZE is the number of ints.
#include "common.h"

constexpr int kThreads = 512, kBatch = 12;

// The tree of a block; without kPlain the last warp works without barriers of the block.
template <bool kPlain>
__device__ int block_sum(int sum) {
    __shared__ int sums[kThreads];
    const int tid = threadIdx.x;
    sums[tid] = sum;
    __syncthreads();
    if (kPlain) {
        for (int distance = kThreads / 2; distance; distance >>= 1) {
            if (tid < distance) sums[tid] += sums[tid + distance];
            __syncthreads();
        }
    } else {
#pragma unroll
        for (int distance = kThreads / 2; distance > 32; distance >>= 1) {
            if (tid < distance) sums[tid] += sums[tid + distance];
            __syncthreads();
        }
        volatile int* last = sums;
#pragma unroll
        for (int distance = 32; distance; distance >>= 1) {
            if (tid < distance) last[tid] += last[tid + distance];
            __syncwarp();
        }
    }
    return static_cast<volatile int*>(sums)[tid];
}

template <bool kPlain>
__global__ void grid_stride(const int* in, int* out, size_t n) {
    int sum = 0;
    for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += kThreads * gridDim.x) sum += in[i];
    sum = block_sum<kPlain>(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void single(const int* in, int* out, size_t n) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    int sum = i < n ? in[i] : 0;
    sum = block_sum<false>(sum);
    if (threadIdx.x == 0) atomicAdd(out, sum);
}

// The elements of a thread are neighbours, so that the lanes of a warp stride by the batch.
__global__ void batches(const int* in, int* out, size_t n) {
    const int thread = blockIdx.x * kThreads + threadIdx.x;
    int sum = 0;
    if (thread < n)
#pragma unroll
        for (int j = 0; j < kBatch; ++j)
            if (thread * kBatch + j < n) sum += in[thread * kBatch + j];
    sum = block_sum<false>(sum);
    if (threadIdx.x == 0) atomicAdd(out, sum);
}

__global__ void vectors(const int4* in, int* out, size_t n) {
    const int thread = blockIdx.x * kThreads + threadIdx.x;
    int sum = 0;
    if (thread < n)
#pragma unroll
        for (int j = 0; j < kBatch / 4; ++j)
            if (thread * kBatch + j * 4 < n) {
                const int4 values = in[thread * (kBatch / 4) + j];
                sum += values.x + values.y + values.z + values.w;
            }
    sum = block_sum<false>(sum);
    if (threadIdx.x == 0) atomicAdd(out, sum);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 30}, {100000});
    const size_t n = run.size(0);
    const int all = chain::ceil_div(n, kThreads), few = chain::ceil_div(n, kThreads * kBatch);
    chain::Array<int> in(n), first(all), out(1);
    int expected = 0;
    if (run.verify) {
        in.fill([](size_t i) { return 100 * chain::pattern(i, 1); });
        for (int value : in.host) expected += value;
    }
    auto check = [&] { return out.download()[0] == expected; };
    auto clear = [&] { CHECK(cudaMemset(out, 0, sizeof(int))); };

    run.variant("two_launches",
                [&] {
                    grid_stride<true><<<all, kThreads>>>(in, first, n);
                    grid_stride<true><<<1, kThreads>>>(first, out, all);
                },
                check);
    run.variant("two_launches_last_warp",
                [&] {
                    grid_stride<false><<<all, kThreads>>>(in, first, n);
                    grid_stride<false><<<1, kThreads>>>(first, out, all);
                },
                check);
    run.variant("atomic", [&] { clear(); single<<<all, kThreads>>>(in, out, n); }, check);
    run.variant("atomic_batches", [&] { clear(); batches<<<few, kThreads>>>(in, out, n); }, check);
    run.variant("atomic_vectors", [&] { clear(); vectors<<<few, kThreads>>>(reinterpret_cast<int4*>(in.data), out, n); }, check);
    return run.finish();
}
