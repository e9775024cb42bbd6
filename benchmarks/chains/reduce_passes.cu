// Summing unsigned integers in as many launches as it takes until one sum is left, with blocks of 512 threads and guarded
// loads. SIZE is the number of integers.
#include "common.h"

constexpr unsigned kThreads = 512;

enum Tree { kDivergent, kConflicts, kFolded };

// One element per thread.
template <Tree kTree>
__global__ void single(const unsigned* in, unsigned n, unsigned* out) {
    extern __shared__ unsigned sums[];
    unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
    sums[tid] = i < n ? in[i] : 0;
    __syncthreads();
    if (kTree == kFolded) {
        for (unsigned distance = blockDim.x / 2; distance > 0; distance >>= 1) {
            if (tid < distance) sums[tid] += tid + distance < n ? sums[tid + distance] : 0;
            __syncthreads();
        }
    } else {
        for (unsigned distance = 1; distance < blockDim.x; distance <<= 1) {
            if (kTree == kDivergent) {
                if (tid % (2 * distance) == 0) sums[tid] += tid + distance < n ? sums[tid + distance] : 0;
            } else {
                unsigned index = 2 * distance * tid;
                if (index < blockDim.x) sums[index] += index + distance < n ? sums[index + distance] : 0;
            }
            __syncthreads();
        }
    }
    if (tid == 0) out[blockIdx.x] = sums[0];
}

__device__ void last_warp(volatile unsigned* sums, unsigned tid, unsigned threads) {
    if (threads >= 64) sums[tid] += sums[tid + 32];
    if (threads >= 32) sums[tid] += sums[tid + 16];
    if (threads >= 16) sums[tid] += sums[tid + 8];
    if (threads >= 8) sums[tid] += sums[tid + 4];
    if (threads >= 4) sums[tid] += sums[tid + 2];
    if (threads >= 2) sums[tid] += sums[tid + 1];
}

enum Finish { kLoop, kLastWarp, kUnrolled };

// Two elements per thread, or two at a time while there are any.
template <Finish kFinish, bool kStride>
__global__ void two_loads(const unsigned* in, unsigned n, unsigned* out) {
    extern __shared__ unsigned sums[];
    unsigned tid = threadIdx.x, i = blockIdx.x * (blockDim.x * 2) + tid;
    if (kStride) {
        sums[tid] = 0;
        for (; i < n; i += gridDim.x * (blockDim.x * 2)) {
            sums[tid] += in[i];
            sums[tid] += i + blockDim.x < n ? in[i + blockDim.x] : 0;
        }
    } else {
        sums[tid] = i < n ? in[i] : 0;
        sums[tid] += i + blockDim.x < n ? in[i + blockDim.x] : 0;
    }
    __syncthreads();
    if (kFinish == kUnrolled) {
        if (blockDim.x >= 512 && tid < 256) sums[tid] += sums[tid + 256];
        __syncthreads();
        if (blockDim.x >= 256 && tid < 128) sums[tid] += sums[tid + 128];
        __syncthreads();
        if (blockDim.x >= 128 && tid < 64) sums[tid] += sums[tid + 64];
        __syncthreads();
    } else {
        for (unsigned distance = blockDim.x / 2; distance > (kFinish == kLastWarp ? 32 : 0); distance >>= 1) {
            if (tid < distance) sums[tid] += sums[tid + distance];
            __syncthreads();
        }
    }
    if (kFinish != kLoop && tid < 32) last_warp(sums, tid, blockDim.x);
    if (tid == 0) out[blockIdx.x] = sums[0];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 26}, {100000});
    const unsigned n = static_cast<unsigned>(run.size(0));
    chain::Array<unsigned> in(n), even(n / kThreads + 1), odd(n / kThreads + 1);
    unsigned expected = 0, *result = nullptr;
    if (run.verify) {
        in.fill([](size_t i) { return i % 1000; });
        for (unsigned value : in.host) expected += value;
    }
    auto check = [&] {
        unsigned sum = 0;
        CHECK(cudaMemcpy(&sum, result, sizeof sum, cudaMemcpyDeviceToHost));
        return sum == expected;
    };
    auto variant = [&](const char* name, auto kernel, unsigned each) {
        run.variant(name,
                    [&, kernel, each] {
                        const unsigned* from = in.data;
                        unsigned left = n;
                        do {
                            const unsigned blocks = (left + each - 1) / each;
                            result = from == even.data ? odd.data : even.data;
                            kernel<<<blocks, kThreads, kThreads * sizeof(unsigned)>>>(from, left, result);
                            from = result;
                            left = blocks;
                        } while (left > 1);
                    },
                    check);
    };
    variant("divergent", single<kDivergent>, kThreads);
    variant("bank_conflicts", single<kConflicts>, kThreads);
    variant("folded", single<kFolded>, kThreads);
    variant("two_loads", two_loads<kLoop, false>, 2 * kThreads);
    variant("last_warp", two_loads<kLastWarp, false>, 2 * kThreads);
    variant("unrolled", two_loads<kUnrolled, false>, 2 * kThreads);
    variant("grid_stride", two_loads<kUnrolled, true>, 2 * kThreads);
    return run.finish();
}
