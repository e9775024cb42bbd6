// Summing an array: the first pass, which leaves one sum per block, from interleaved pairs in shared memory to
// shuffles. Names end in the number of threads of a block; SIZE is the number of floats (a multiple of 4096).
#include "common.h"

constexpr unsigned kAll = 0xffffffffu;

// Pairs at distance 1, 2, 4 ...: the lanes that work lie ever further apart.
template <int kThreads>
__global__ void divergent(const float* in, float* out) {
    __shared__ float sums[kThreads];
    unsigned tid = threadIdx.x;
    sums[tid] = in[blockIdx.x * blockDim.x + tid];
    __syncthreads();
    for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
        if (tid % (2 * distance) == 0) sums[tid] += sums[tid + distance];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = sums[0];
}

// The same pairs, but neighbouring lanes work; their addresses stride and conflict.
template <int kThreads>
__global__ void bank_conflicts(const float* in, float* out) {
    __shared__ float sums[kThreads];
    unsigned tid = threadIdx.x;
    sums[tid] = in[blockIdx.x * blockDim.x + tid];
    __syncthreads();
    for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
        unsigned index = 2 * distance * tid;
        if (index < blockDim.x) sums[index] += sums[index + distance];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = sums[0];
}

// Halves are folded onto each other. kLoads = 2 adds two elements while loading; the last warp may go without
// barriers: kLast is 0 (no), 1 (volatile accesses) or 2 (registers and __syncwarp).
template <int kThreads, int kLoads, int kLast>
__global__ void folded(const float* in, float* out) {
    __shared__ float sums[kThreads];
    unsigned tid = threadIdx.x, i = blockIdx.x * (blockDim.x * kLoads) + tid;
    sums[tid] = kLoads == 2 ? in[i] + in[i + blockDim.x] : in[i];
    __syncthreads();
    for (unsigned distance = blockDim.x / 2; distance > (kLast ? 32 : 0); distance >>= 1) {
        if (tid < distance) sums[tid] += sums[tid + distance];
        __syncthreads();
    }
    if (kLast == 1 && tid < 32) {
        volatile float* last = sums;
        for (int distance = 32; distance > 0; distance >>= 1) last[tid] += last[tid + distance];
    }
    if (kLast == 2 && tid < 32) {
        volatile float* last = sums;
        float sum = last[tid];
        for (int distance = 32; distance > 0; distance >>= 1) {
            sum += last[tid + distance];
            __syncwarp();
            last[tid] = sum;
            __syncwarp();
        }
    }
    if (tid == 0) out[blockIdx.x] = sums[0];
}

// What remains after loading, with every loop unrolled.
template <int kThreads>
__device__ void fold_unrolled(float* sums) {
    unsigned tid = threadIdx.x;
    if (kThreads >= 256) {
        if (tid < 128) sums[tid] += sums[tid + 128];
        __syncthreads();
    }
    if (kThreads >= 128) {
        if (tid < 64) sums[tid] += sums[tid + 64];
        __syncthreads();
    }
    if (tid < 32) {
        volatile float* last = sums;
        last[tid] += last[tid + 32];
        last[tid] += last[tid + 16];
        last[tid] += last[tid + 8];
        last[tid] += last[tid + 4];
        last[tid] += last[tid + 2];
        last[tid] += last[tid + 1];
    }
}

template <int kThreads>
__global__ void unrolled(const float* in, float* out) {
    __shared__ float sums[kThreads];
    unsigned tid = threadIdx.x, i = blockIdx.x * (blockDim.x * 2) + tid;
    sums[tid] = in[i] + in[i + blockDim.x];
    __syncthreads();
    fold_unrolled<kThreads>(sums);
    if (tid == 0) out[blockIdx.x] = sums[0];
}

// Few blocks, each adding many pairs in shared memory before it folds.
template <int kThreads>
__global__ void grid_stride(const float* in, float* out, unsigned n) {
    __shared__ float sums[kThreads];
    unsigned tid = threadIdx.x;
    sums[tid] = 0.0f;
    for (unsigned i = blockIdx.x * (kThreads * 2) + tid; i < n; i += kThreads * 2 * gridDim.x)
        sums[tid] += in[i] + in[i + kThreads];
    __syncthreads();
    fold_unrolled<kThreads>(sums);
    if (tid == 0) out[blockIdx.x] = sums[0];
}

// One pass of a reduction in two launches: each thread adds what falls to it in a register.
template <int kThreads>
__global__ void register_sum(const float* in, float* out, int n) {
    __shared__ float sums[kThreads];
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += in[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    fold_unrolled<kThreads>(sums);
    if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}

template <int kWidth>
__device__ float warp_sum(float sum) {
#pragma unroll
    for (int distance = kWidth / 2; distance > 0; distance >>= 1) sum += __shfl_down_sync(kAll, sum, distance);
    return sum;
}

// Shuffles within warps, shared memory only between them. kLoads elements at a time.
template <int kThreads, int kLoads>
__global__ void shuffled(const float* in, float* out, unsigned n) {
    __shared__ float sums[32];
    unsigned tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    float sum = 0.0f;
    for (unsigned i = blockIdx.x * (kThreads * kLoads) + tid; i < n; i += kThreads * kLoads * gridDim.x)
        sum += kLoads == 2 ? in[i] + in[i + kThreads] : in[i];
    sum = warp_sum<32>(sum);
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    sum = tid < kThreads / 32 ? sums[lane] : 0.0f;
    if (warp == 0) sum = warp_sum<kThreads / 32>(sum);
    if (tid == 0) out[blockIdx.x] = sum;
}

// A block adds a contiguous chunk, kEach elements per thread: in shared memory, or in a register and with shuffles.
template <int kThreads, int kEach>
__global__ void chunks(const float* in, float* out) {
    __shared__ float sums[kThreads];
    unsigned tid = threadIdx.x, first = blockIdx.x * (kThreads * kEach) + tid;
    sums[tid] = 0.0f;
#pragma unroll
    for (int i = 0; i < kEach; ++i) sums[tid] += in[first + i * kThreads];
    __syncthreads();
    fold_unrolled<kThreads>(sums);
    if (tid == 0) out[blockIdx.x] = sums[0];
}

// What the threads of a block hold, in its first thread.
template <int kThreads>
__device__ float block_sum(float sum) {
    __shared__ float sums[32];
    unsigned tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    sum = warp_sum<32>(sum);
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    sum = tid < kThreads / 32 ? sums[lane] : 0.0f;
    return warp == 0 ? warp_sum<kThreads / 32>(sum) : sum;
}

template <int kThreads, int kEach>
__global__ void chunks_shuffled(const float* in, float* out) {
    unsigned first = blockIdx.x * (kThreads * kEach) + threadIdx.x;
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kEach; ++i) sum += in[first + i * kThreads];
    sum = block_sum<kThreads>(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// Four elements at a time, as many blocks as the card holds at once.
template <int kThreads>
__global__ void packed(const float4* in, float* out, int vectors) {
    float4 sums = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int i = blockIdx.x * kThreads + threadIdx.x; i < vectors; i += kThreads * gridDim.x) {
        float4 value = in[i];
        sums.x += value.x;
        sums.y += value.y;
        sums.z += value.z;
        sums.w += value.w;
    }
    float sum = block_sum<kThreads>(sums.x + sums.y + sums.z + sums.w);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {32 << 20, 2048}, {1 << 16, 8});
    const size_t n = run.size(0);
    const int few = static_cast<int>(run.size(1));
    chain::Array<float> in(n), out(n / 256), total(1);
    double expected = 0.0;
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        for (float value : in.host) expected += value;
    }
    // Each launch overwrites the sums of its own blocks only, so the others must count as nothing.
    auto prepare = [&] { if (run.verify) CHECK(cudaMemset(out, 0, out.count * sizeof(float))); };
    auto check = [&] {
        double sum = 0.0;
        for (float value : out.download()) sum += value;
        return std::fabs(sum - expected) < 1e-2;
    };
    const int all = static_cast<int>(n / 256), half = all / 2;

    run.variant("divergent_256", [&] { divergent<256><<<all, 256>>>(in, out); }, check, prepare);
    run.variant("bank_conflicts_256", [&] { bank_conflicts<256><<<all, 256>>>(in, out); }, check, prepare);
    run.variant("folded_256", [&] { folded<256, 1, 0><<<all, 256>>>(in, out); }, check, prepare);
    run.variant("two_loads_256", [&] { folded<256, 2, 0><<<half, 256>>>(in, out); }, check, prepare);
    run.variant("last_warp_256", [&] { folded<256, 2, 1><<<half, 256>>>(in, out); }, check, prepare);
    run.variant("unrolled_256", [&] { unrolled<256><<<half, 256>>>(in, out); }, check, prepare);
    run.variant("grid_stride_256", [&] { grid_stride<256><<<few, 256>>>(in, out, n); }, check, prepare);
    run.variant("shuffled_256", [&] { shuffled<256, 2><<<few, 256>>>(in, out, n); }, check, prepare);
    run.variant("chunks_256", [&] { chunks<256, 128><<<all / 128, 256>>>(in, out); }, check, prepare);
    run.variant("chunks_shuffled_256", [&] { chunks_shuffled<256, 128><<<all / 128, 256>>>(in, out); }, check, prepare);
    run.variant("packed_256",
                [&] { packed<256><<<few, 256>>>(reinterpret_cast<float4*>(in.data), out, static_cast<int>(n / 4)); },
                check, prepare);
    run.variant("two_loads_128", [&] { folded<128, 2, 0><<<all, 128>>>(in, out); }, check, prepare);
    run.variant("last_warp_128", [&] { folded<128, 2, 2><<<all, 128>>>(in, out); }, check, prepare);
    run.variant("unrolled_128", [&] { unrolled<128><<<all, 128>>>(in, out); }, check, prepare);
    run.variant("two_launches_256",
                [&] {
                    register_sum<256><<<all, 256>>>(in, out, n);
                    register_sum<256><<<1, 256>>>(out, total, all);
                },
                [&] { return std::fabs(total.download()[0] - expected) < 1e-2; }, prepare);
    run.variant("shuffled_single_256", [&] { shuffled<256, 1><<<all, 256>>>(in, out, n); }, check, prepare);
    return run.finish();
}
