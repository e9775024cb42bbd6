// A histogram of random bytes, in blocks of 256 threads: by atomics on all bins, on bins of a block's own, and the same by
// 1280 blocks that walk over the bytes. SIZE is their number, a multiple of 2^20 beyond that.
#include "common.h"

constexpr int kBins = 256, kThreads = 256, kWalkers = 1280;

__global__ void global_atomics(const unsigned char* in, unsigned* bins, long n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[in[i]], 1);
}

template <bool kWalks>
__global__ void own_bins(const unsigned char* in, unsigned* bins, long n) {
    __shared__ unsigned own[kBins];
    for (int b = threadIdx.x; b < kBins; b += blockDim.x) own[b] = 0;
    __syncthreads();
    const int first = blockIdx.x * blockDim.x + threadIdx.x, stride = blockDim.x * gridDim.x;
    if (kWalks) {
        for (int i = first; i < n; i += stride) atomicAdd(&own[in[i]], 1);
    } else if (first < n) {
        atomicAdd(&own[in[first]], 1);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < kBins; b += blockDim.x) atomicAdd(&bins[b], own[b]);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 30}, {5000});
    const size_t n = run.size(0), part = n < (1 << 20) ? n : 1 << 20;
    chain::Array<unsigned char> in(n);
    chain::Array<unsigned> bins(kBins);
    // The same bytes again and again: which bins atomics meet depends on the bytes that are near each other.
    std::vector<unsigned char> some(part);
    for (size_t i = 0; i < part; ++i) some[i] = static_cast<unsigned char>(127.5f * (chain::pattern(i, 1) + 1.0f));
    for (size_t at = 0; at + part <= n; at += part)
        CHECK(cudaMemcpy(in.data + at, some.data(), part, cudaMemcpyHostToDevice));
    auto check = [&] {
        std::vector<unsigned> expected(kBins, 0);
        for (unsigned char value : some) ++expected[value];
        return chain::close(bins, expected, 0.0);
    };
    auto prepare = [&] { CHECK(cudaMemset(bins, 0, kBins * sizeof(unsigned))); };
    const int blocks = chain::ceil_div(n, kThreads);
    run.variant("global", [&] { global_atomics<<<blocks, kThreads>>>(in, bins, n); }, check, prepare);
    run.variant("own", [&] { own_bins<false><<<blocks, kThreads>>>(in, bins, n); }, check, prepare);
    run.variant("own_walk", [&] { own_bins<true><<<kWalkers, kThreads>>>(in, bins, n); }, check, prepare);
    return run.finish();
}
