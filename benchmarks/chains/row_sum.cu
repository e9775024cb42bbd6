// Sums of the rows of a matrix, from a thread per row to blocks that share a row and add with atomics.
// SIZES are rows and columns (a multiple of 4); blocks of 128 threads, and tiles of 8192 columns from v3 on.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "common.h"

namespace cg = cooperative_groups;
constexpr int kThreads = 128, kTile = 8192;

// v1: compensated summation, one thread per row.
__global__ void thread_per_row(const float* in, float* out, int rows, int columns) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    in += row * columns;
    float sum = 0.0f, error = 0.0f;
    for (int column = 0; column < columns; ++column) {
        float item = in[column] - error, next = sum + item;
        error = next - sum - item;
        sum = next;
    }
    out[row] = sum;
}

// v2: a thread per element, a tree in shared memory.
__global__ void tree(const float* in, float* out, int rows, int columns) {
    extern __shared__ float sums[];
    const int tid = threadIdx.x, column = blockIdx.x * blockDim.x + tid, row = blockIdx.y;
    in += row * columns;
    sums[tid] = column < columns ? in[column] : 0.0f;
    __syncthreads();
    for (int distance = blockDim.x / 2; distance > 0; distance /= 2) {
        if (tid < distance) sums[tid] += sums[tid + distance];
        __syncthreads();
    }
    if (tid == 0) atomicAdd(out + row, sums[0]);
}

__device__ float thread_sum(const float* in, int threads, int tid, int limit) {
    float sum = 0.0f;
    for (int i = tid; i < kTile; i += threads)
        if (i < limit) sum += in[i];
    return sum;
}

__device__ float thread_sum4(const float* in, int threads, int tid, int limit) {
    float sum = 0.0f;
    for (int i = tid * 4; i < kTile; i += threads * 4)
        if (i < limit) {
            float4 values = *reinterpret_cast<const float4*>(&in[i]);
            sum += values.x + values.y + values.z + values.w;
        }
    return sum;
}

enum Last { kBarriers, kVolatile, kSyncwarp, kShuffle, kGroups };

// v3 to v6: a thread adds many elements first; the last warp in five ways.
template <Last kLast, bool kVectors>
__global__ void coarse(const float* in, float* out, int rows, int columns) {
    extern __shared__ float sums[];
    const int tid = threadIdx.x, threads = blockDim.x, row = blockIdx.y, first = blockIdx.x * kTile;
    in += row * columns + first;
    sums[tid] = kVectors ? thread_sum4(in, threads, tid, columns - first) : thread_sum(in, threads, tid, columns - first);
    __syncthreads();
    for (int distance = threads / 2; distance >= (kLast == kBarriers ? 1 : 32); distance /= 2) {
        if (tid < distance) sums[tid] += sums[tid + distance];
        __syncthreads();
    }
    float sum = 0.0f;
    if (kLast == kBarriers) {
        sum = sums[0];
    } else if (tid < 32) {
        if (kLast == kVolatile) {
            volatile float* last = sums;
            for (int distance = 16; distance > 0; distance /= 2) last[tid] += last[tid + distance];
            sum = last[tid];
        } else if (kLast == kSyncwarp) {
            for (int distance = 16; distance > 0; distance /= 2) {
                sums[tid] += sums[tid + distance];
                __syncwarp();
            }
            sum = sums[tid];
        } else if (kLast == kShuffle) {
            sum = sums[tid];
            for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
        } else {
            sum = cg::reduce(cg::tiled_partition<32>(cg::this_thread_block()), sums[tid], cg::plus<float>());
        }
    }
    if (tid == 0) atomicAdd(out + row, sum);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {64, 32000}, {8, 20000});
    const int rows = static_cast<int>(run.size(0)), columns = static_cast<int>(run.size(1));
    chain::Array<float> in(size_t(rows) * columns), out(rows);
    std::vector<double> expected(run.verify ? rows : 0);
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        for (int row = 0; row < rows; ++row)
            for (int column = 0; column < columns; ++column) expected[row] += in.host[size_t(row) * columns + column];
    }
    auto prepare = [&] { CHECK(cudaMemset(out, 0, rows * sizeof(float))); };
    auto check = [&] { return chain::close(out, expected, 2e-3); };
    const size_t shared = kThreads * sizeof(float);
    const dim3 tiles(chain::ceil_div(columns, kTile), rows);

    run.variant("v1", [&] { thread_per_row<<<chain::ceil_div(rows, kThreads), kThreads>>>(in, out, rows, columns); }, check, prepare);
    run.variant("v2", [&] { tree<<<dim3(chain::ceil_div(columns, kThreads), rows), kThreads, shared>>>(in, out, rows, columns); }, check, prepare);
    run.variant("v3", [&] { coarse<kBarriers, false><<<tiles, kThreads, shared>>>(in, out, rows, columns); }, check, prepare);
    run.variant("v4a", [&] { coarse<kVolatile, false><<<tiles, kThreads, shared>>>(in, out, rows, columns); }, check, prepare);
    run.variant("v4b", [&] { coarse<kSyncwarp, false><<<tiles, kThreads, shared>>>(in, out, rows, columns); }, check, prepare);
    run.variant("v4c", [&] { coarse<kShuffle, false><<<tiles, kThreads, shared>>>(in, out, rows, columns); }, check, prepare);
    run.variant("v5", [&] { coarse<kGroups, false><<<tiles, kThreads, shared>>>(in, out, rows, columns); }, check, prepare);
    run.variant("v6", [&] { coarse<kShuffle, true><<<tiles, kThreads, shared>>>(in, out, rows, columns); }, check, prepare);
    return run.finish();
}
