// Histograms of floats in [0, 1) with 256 bins, in blocks of 256 threads: evenly spread values, and values most of which
// fall into a few bins. The bins that atomics meet depend on the values, so they are set before timing, too.
#include <algorithm>

#include "common.h"

constexpr int kBins = 256, kThreads = 256, kEach = 8;

__device__ int bin_of(float x) { return min(max(static_cast<int>(x * kBins), 0), kBins - 1); }

__global__ void global_atomics(const float* __restrict__ in, int* __restrict__ bins, size_t n) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[bin_of(in[i])], 1);
}

// A block's own bins, added to those of all at its end; each thread counts kCount values.
template <int kCount>
__global__ void own_bins(const float* __restrict__ in, int* __restrict__ bins, size_t n) {
    __shared__ int own[kBins];
    for (int b = threadIdx.x; b < kBins; b += blockDim.x) own[b] = 0;
    __syncthreads();
    const size_t first = size_t(blockIdx.x) * blockDim.x * kCount;
    for (int k = 0; k < kCount; ++k) {
        const size_t i = first + size_t(k) * blockDim.x + threadIdx.x;
        if (i < n) atomicAdd(&own[bin_of(in[i])], 1);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < kBins; b += blockDim.x)
        if (own[b]) atomicAdd(&bins[b], own[b]);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {33554432}, {5000});
    const size_t n = run.size(0);
    chain::Array<float> in(n);
    chain::Array<int> bins(kBins);
    for (const bool skewed : {false, true}) {
        const std::string kind = skewed ? "_skewed" : "_even";
        auto set = [&] {
            in.fill([&](size_t i) {
                const float u = 0.5f * (chain::pattern(i, 1) + 1.0f);
                return skewed ? std::pow(u, 24.0f) : u;
            });
        };
        auto check = [&] {
            std::vector<int> expected(kBins, 0);
            for (float x : in.host) ++expected[std::min(static_cast<int>(x * kBins), kBins - 1)];
            return chain::close(bins, expected, 0.0);
        };
        auto prepare = [&] {
            set();
            CHECK(cudaMemset(bins, 0, kBins * sizeof(int)));
        };
        const int blocks = chain::ceil_div(n, kThreads);
        run.variant(("global" + kind).c_str(), [&] { global_atomics<<<blocks, kThreads>>>(in, bins, n); }, check, prepare);
        run.variant(("own" + kind).c_str(), [&] { own_bins<1><<<blocks, kThreads>>>(in, bins, n); }, check, prepare);
        run.variant(("own_coarse" + kind).c_str(),
                    [&] { own_bins<kEach><<<chain::ceil_div(n, kThreads * kEach), kThreads>>>(in, bins, n); }, check, prepare);
    }
    return run.finish();
}
