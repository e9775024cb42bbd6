// Histogram of bytes into 256 bins: atomics in global memory, in shared memory, and the latter fed by 16-byte loads.
// Blocks of 512 threads, 32 blocks per multiprocessor at most. SIZE is the number of bytes. The bytes are random
// when timing, too, because contention depends on them.
#include <algorithm>

#include "common.h"

constexpr int kThreads = 512, kBins = 256;
using Byte = unsigned char;

__global__ void global_atomics(const Byte* __restrict__ in, int n, int* __restrict__ bins) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i]], 1);
}

__device__ void clear(int* mine) {
    for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) mine[bin] = 0;
    __syncthreads();
}

__device__ void add_to(int* bins, const int* mine) {
    __syncthreads();
    for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x)
        if (mine[bin] > 0) atomicAdd(&bins[bin], mine[bin]);
}

__global__ void shared_atomics(const Byte* __restrict__ in, int n, int* __restrict__ bins) {
    __shared__ int mine[kBins];
    clear(mine);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[in[i]], 1);
    add_to(bins, mine);
}

__global__ void shared_vectors(const Byte* __restrict__ in, int n, int* __restrict__ bins) {
    __shared__ int mine[kBins];
    clear(mine);
    const int first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x, vectors = n / 16;
    for (int i = first; i < vectors; i += step) {
        Byte values[16];
        *reinterpret_cast<uint4*>(values) = reinterpret_cast<const uint4*>(in)[i];
#pragma unroll
        for (int j = 0; j < 16; ++j) atomicAdd(&mine[values[j]], 1);
    }
    for (int i = vectors * 16 + first; i < n; i += step) atomicAdd(&mine[in[i]], 1);
    add_to(bins, mine);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 30}, {100003});
    const int n = static_cast<int>(run.size(0));
    chain::Array<Byte> in(n);
    chain::Array<int> bins(kBins);
    std::vector<int> expected(kBins);
    std::vector<Byte> chunk(std::min(n, 16 << 20));
    for (size_t i = 0; i < chunk.size(); ++i) chunk[i] = static_cast<Byte>(128.0f * (chain::pattern(i, 1) + 1.0f));
    for (long long at = 0; at < n; at += chunk.size()) {
        const size_t bytes = std::min<long long>(chunk.size(), n - at);
        CHECK(cudaMemcpy(in.data + at, chunk.data(), bytes, cudaMemcpyHostToDevice));
        if (run.verify)
            for (size_t i = 0; i < bytes; ++i) ++expected[chunk[i]];
    }
    int multiprocessors = 0;
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    const int blocks = std::min(chain::ceil_div(n, kThreads), multiprocessors * 32);
    auto prepare = [&] { CHECK(cudaMemset(bins, 0, kBins * sizeof(int))); };
    auto check = [&] { return chain::close(bins, expected, 0.0); };

    run.variant("global_atomics", [&] { global_atomics<<<blocks, kThreads>>>(in, n, bins); }, check, prepare);
    run.variant("shared_atomics", [&] { shared_atomics<<<blocks, kThreads>>>(in, n, bins); }, check, prepare);
    run.variant("shared_vectors", [&] { shared_vectors<<<blocks, kThreads>>>(in, n, bins); }, check, prepare);
    return run.finish();
}
