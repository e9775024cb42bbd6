// Counting 32-bit numbers in 512 bins, one element per thread: with atomics on the bins in global memory, or with bins
// of each block in shared memory, all of which every block adds to the global ones. SIZES are the number of elements
// and the threads of a block. All elements are zero while timing, as in the published measurements.
#include "common.h"

constexpr unsigned kBins = 512;

__global__ void global_bins(const unsigned* in, unsigned* bins, unsigned n, unsigned bin_count) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, threads = blockDim.x * gridDim.x;
    // Blocks do not wait for each other here, which is right only where the bins were empty before.
    for (unsigned bin = thread; bin < bin_count; bin += threads) bins[bin] = 0;
    __syncthreads();
    for (unsigned i = thread; i < n; i += threads) atomicAdd(&bins[in[i]], 1);
}

__global__ void shared_bins(const unsigned* in, unsigned* bins, unsigned n, unsigned bin_count) {
    extern __shared__ unsigned own[];
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, threads = blockDim.x * gridDim.x;
    for (unsigned bin = threadIdx.x; bin < bin_count; bin += blockDim.x) own[bin] = 0;
    __syncthreads();
    for (unsigned i = thread; i < n; i += threads) atomicAdd(&own[in[i]], 1);
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < bin_count; bin += blockDim.x) atomicAdd(&bins[bin], own[bin]);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 26, 512}, {5000, 128});
    const unsigned n = static_cast<unsigned>(run.size(0));
    const int threads = static_cast<int>(run.size(1)), blocks = chain::ceil_div(n, threads);
    chain::Array<unsigned> in(n), bins(kBins);
    std::vector<unsigned> expected(kBins);
    CHECK(cudaMemset(in, 0, size_t(n) * sizeof(unsigned)));
    if (run.verify) {
        in.fill([](size_t i) { return unsigned(256.0f * (chain::pattern(i, 1) + 1.0f)); });
        // The blocks of the first variant run in no order, so its zeros must not meet counts: the first block alone
        // clears 128 of its own bins, which none of the elements fall into.
        for (unsigned& value : in.host) value = value < 128 ? value + 128 : value;
        in.upload();
        for (unsigned value : in.host) ++expected[value];
    }
    auto prepare = [&] { CHECK(cudaMemset(bins, 0, kBins * sizeof(unsigned))); };
    auto check = [&] { return chain::close(bins, expected, 0.0); };
    run.variant("global_bins", [&] { global_bins<<<blocks, threads>>>(in, bins, n, run.verify ? 128 : kBins); }, check, prepare);
    run.variant("shared_bins", [&] { shared_bins<<<blocks, threads, kBins * sizeof(unsigned)>>>(in, bins, n, kBins); }, check, prepare);
    return run.finish();
}
