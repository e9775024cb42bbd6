// Summing an array in one launch: blocks of 256 threads add their sums to the result with an atomic operation.
// The 4-byte memset that clears the result is part of a launch. SIZE is the number of floats (a multiple of 1024).
#include "common.h"

__global__ void every_thread(float* out, const float4* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 values = in[i];
        atomicAdd(out, values.x + values.y + values.z + values.w);
    }
}

enum Tree { kDivergent, kConflicts, kFolded, kFoldedLastWarp };

template <Tree kTree, int kLoads>
__global__ void block_sums(float* out, const float* in, int n) {
    extern __shared__ float sums[];
    int i = blockIdx.x * (blockDim.x * kLoads) + threadIdx.x, tid = threadIdx.x;
    if (i < n) {
        sums[tid] = kLoads == 2 ? in[i] + in[i + blockDim.x] : in[i];
        __syncthreads();
        if (kTree == kDivergent) {
            for (int distance = 1; distance < blockDim.x; distance *= 2) {
                if (tid % (2 * distance) == 0) sums[tid] += sums[tid + distance];
                __syncthreads();
            }
        } else if (kTree == kConflicts) {
            for (int distance = 1; distance < blockDim.x; distance *= 2) {
                int index = 2 * distance * tid;
                if (index < blockDim.x) sums[index] += sums[index + distance];
                __syncthreads();
            }
        } else {
            for (int distance = blockDim.x / 2; distance > (kTree == kFolded ? 0 : 32); distance /= 2) {
                if (tid < distance) sums[tid] += sums[tid + distance];
                __syncthreads();
            }
        }
        if (kTree == kFoldedLastWarp && tid < 32) {
            volatile float* last = sums;
            last[tid] += last[tid + 32];
            last[tid] += last[tid + 16];
            last[tid] += last[tid + 8];
            last[tid] += last[tid + 4];
            last[tid] += last[tid + 2];
            last[tid] += last[tid + 1];
        }
        if (tid == 0) atomicAdd(out, sums[0]);
    }
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 25, 256}, {1 << 14, 256});
    const int n = static_cast<int>(run.size(0)), threads = static_cast<int>(run.size(1));
    chain::Array<float> in(n), out(1);
    double expected = 0.0;
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        for (float value : in.host) expected += value;
    }
    auto check = [&] { return std::fabs(out.download()[0] - expected) < 1e-2; };
    auto clear = [&] { CHECK(cudaMemset(out, 0, sizeof(float))); };
    const size_t shared = threads * sizeof(float);
    const int all = n / threads;

    run.variant("every_thread",
                [&] { clear(); every_thread<<<all / 4, threads>>>(out, reinterpret_cast<float4*>(in.data), n / 4); }, check);
    run.variant("divergent", [&] { clear(); block_sums<kDivergent, 1><<<all, threads, shared>>>(out, in, n); }, check);
    run.variant("bank_conflicts", [&] { clear(); block_sums<kConflicts, 1><<<all, threads, shared>>>(out, in, n); }, check);
    run.variant("folded", [&] { clear(); block_sums<kFolded, 1><<<all, threads, shared>>>(out, in, n); }, check);
    run.variant("last_warp", [&] { clear(); block_sums<kFoldedLastWarp, 1><<<all, threads, shared>>>(out, in, n); }, check);
    run.variant("two_loads", [&] { clear(); block_sums<kFolded, 2><<<all / 2, threads, shared>>>(out, in, n); }, check);
    run.variant("two_loads_last_warp",
                [&] { clear(); block_sums<kFoldedLastWarp, 2><<<all / 2, threads, shared>>>(out, in, n); }, check);
    return run.finish();
}
