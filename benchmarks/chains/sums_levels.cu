// Summing a long array in levels of launches: unsigned numbers by blocks of 1024 in shared memory, or by warps with
// shuffles; doubles by four million threads first. SIZE is the number of elements, a power of 32 or of 1024 for the
// first two (2^30 is both); DOUBLES is that of the last two.
#include "common.h"

constexpr int kThreads = 1024;

__global__ void shared_level(const unsigned* in, unsigned* out) {
    __shared__ unsigned sums[kThreads];
    const size_t i = threadIdx.x + size_t(blockDim.x) * blockIdx.x;
    sums[threadIdx.x] = in[i];
    for (unsigned distance = kThreads / 2; distance > 0; distance >>= 1) {
        __syncthreads();
        if (threadIdx.x < distance) sums[threadIdx.x] += sums[threadIdx.x ^ distance];
    }
    if (threadIdx.x == 0) out[i / kThreads] = sums[0];
}

__global__ void warp_level(const unsigned* in, unsigned* out, size_t n) {
    const size_t i = threadIdx.x + size_t(blockDim.x) * blockIdx.x;
    unsigned sum = i < n ? in[i] : 0;
    for (int distance = 16; distance > 0; distance >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (i % 32 == 0 && i < n) out[i / 32] = sum;
}

// A sum per thread, kEach elements that lie a grid apart.
template <int kEach>
__global__ void strided_sums(const double* in, double* out, size_t n) {
    const size_t thread = threadIdx.x + size_t(blockDim.x) * blockIdx.x;
    double sum = 0.0;
#pragma unroll(kEach)
    for (size_t i = thread; i < n; i += size_t(blockDim.x) * gridDim.x) sum += in[i];
    out[thread] = sum;
}

// A sum per block: the same, then shared memory, then shuffles.
template <int kEach>
__global__ void folded_sums(const double* in, double* out, size_t n) {
    __shared__ double sums[kThreads];
    double sum = 0.0;
#pragma unroll(kEach)
    for (size_t i = threadIdx.x + size_t(blockDim.x) * blockIdx.x; i < n; i += size_t(blockDim.x) * gridDim.x) sum += in[i];
    sums[threadIdx.x] = sum;
#pragma unroll
    for (unsigned distance = kThreads / 2; distance > 16; distance >>= 1) {
        __syncthreads();
        if (threadIdx.x < distance) sums[threadIdx.x] += sums[threadIdx.x ^ distance];
    }
    if (threadIdx.x < 32) {
        sum = sums[threadIdx.x];
        for (int distance = 16; distance > 0; distance >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
        if (threadIdx.x == 0) out[blockIdx.x] = sum;
    }
}

// What is left, as a library would: some hundred blocks, then one.
void finish(const double* in, double* out, size_t n) {
    folded_sums<4><<<160, kThreads>>>(in, out, n);
    folded_sums<1><<<1, kThreads>>>(out, out + 160, 160);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 30, 1 << 30}, {1 << 20, 1 << 20});
    const size_t n = run.size(0), doubles = run.size(1), threads = doubles / 256;
    chain::Array<unsigned> in(n), levels(n / 16);
    chain::Array<double> wide(doubles), partial(threads), last(161);
    unsigned total = 0;
    double wide_total = 0.0;
    if (run.verify) {
        in.fill([](size_t i) { return i * 2654435761u; });
        for (unsigned value : in.host) total += value;
        wide.fill([](size_t i) { return chain::pattern(i, 1); });
        for (double value : wide.host) wide_total += value;
    }
    // Each level reads what the one before left, in the next part of the buffer; the last one leaves a single sum.
    unsigned* end = levels;
    auto by_blocks = [&] {
        const unsigned* from = in;
        end = levels;
        for (size_t left = n; left > 1; left /= kThreads) {
            shared_level<<<left / kThreads, kThreads>>>(from, end);
            from = end;
            end += left / kThreads;
        }
    };
    auto by_warps = [&] {
        const unsigned* from = in;
        end = levels;
        for (size_t left = n; left > 1; left /= 32) {
            warp_level<<<chain::ceil_div(left, kThreads), kThreads>>>(from, end, left);
            from = end;
            end += left / 32;
        }
    };
    auto is_total = [&] {
        unsigned sum = 0;
        CHECK(cudaMemcpy(&sum, end - 1, sizeof sum, cudaMemcpyDeviceToHost));
        return sum == total;
    };
    auto is_wide_total = [&] { return std::fabs(last.download()[160] - wide_total) < 1e-6; };
    const unsigned blocks = static_cast<unsigned>(threads / kThreads);
    run.variant("by_blocks", by_blocks, is_total);
    run.variant("by_warps", by_warps, is_total);
    run.variant("strided", [&] { strided_sums<256><<<blocks, kThreads>>>(wide, partial, doubles);
                                 finish(partial, last, threads); }, is_wide_total);
    run.variant("folded", [&] { folded_sums<256><<<blocks, kThreads>>>(wide, partial, doubles);
                                finish(partial, last, blocks); }, is_wide_total);
    return run.finish();
}
