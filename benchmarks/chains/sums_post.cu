// The sum of integers into one word, which is cleared before each launch: an atomic per thread, a tree in shared memory,
// warps with shuffles, and as many blocks as fit on the card, whose threads walk. SIZE is the number of integers.
#include "common.h"

constexpr int kThreads = 256, kWarps = kThreads / 32;

__global__ void atomics(const int* in, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(out, in[i]);
}

__global__ void tree(const int* in, int* out, int n) {
    __shared__ int sums[kThreads];
    const int thread = threadIdx.x, i = blockIdx.x * blockDim.x + thread;
    sums[thread] = i < n ? in[i] : 0;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (thread < half) sums[thread] += sums[thread + half];
        __syncthreads();
    }
    if (thread == 0) atomicAdd(out, sums[0]);
}

__device__ int sum_of_warp(int value) {
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffffu, value, distance);
    return value;
}

__global__ void shuffles(const int* in, int* out, int n) {
    __shared__ int sums[kWarps];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int value = sum_of_warp(i < n ? in[i] : 0);
    if (lane == 0) sums[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = sum_of_warp(lane < kWarps ? sums[lane] : 0);
        if (lane == 0) atomicAdd(out, value);
    }
}

__global__ void walk(const int* in, int* out, int n) {
    int value = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) value += in[i];
    value = __reduce_add_sync(0xffffffffu, value);
    if (threadIdx.x % 32 == 0) atomicAdd(out, value);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 26}, {10000});
    const int n = static_cast<int>(run.size(0)), blocks = chain::ceil_div(n, kThreads);
    chain::Array<int> in(n), out(1);
    std::vector<int> expected(1);
    if (run.verify) {
        in.fill([](size_t i) { return int(100.0f * chain::pattern(i, 1)); });
        for (int i = 0; i < n; ++i) expected[0] += in.host[i];
    }
    cudaDeviceProp card;
    CHECK(cudaGetDeviceProperties(&card, 0));
    int fitting = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fitting, walk, kThreads, 0));
    auto check = [&] { return chain::close(out, expected, 0.0); };
    auto clear = [&] { CHECK(cudaMemsetAsync(out, 0, sizeof(int))); };
    run.variant("atomics", [&] { clear(); atomics<<<blocks, kThreads>>>(in, out, n); }, check);
    run.variant("tree", [&] { clear(); tree<<<blocks, kThreads>>>(in, out, n); }, check);
    run.variant("shuffles", [&] { clear(); shuffles<<<blocks, kThreads>>>(in, out, n); }, check);
    run.variant("walk", [&] { clear(); walk<<<fitting * card.multiProcessorCount, kThreads>>>(in, out, n); }, check);
    return run.finish();
}
