// What honest kernels do, under all checks: float atomics in any order, split-K, cooperative groups, pipelines of
// asynchronous copies in more than 48 KB of shared memory, CUB in a block, initialisation by the first call only.
// args: --check all
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda_pipeline.h>

#include "../check.h"

namespace cg = cooperative_groups;

// Each part of K is summed by blocks of its own; the parts meet in atomics.
__global__ void split_k(const float* a, const float* b, float* c, int n, int part) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = blockIdx.z * part; k < min(n, (int(blockIdx.z) + 1) * part); k++) sum += a[y * n + k] * b[k * n + x];
    atomicAdd(&c[y * n + x], sum);
}

constexpr int kStages = 4, kTile = 1024 * 4;  // 64 KB

// Four stages in flight; the last rounds have nothing left to copy.
__global__ void pipelined(const float* in, float* out, int tiles) {
    extern __shared__ float4 stages[];
    const int t = threadIdx.x, per = kTile / 4 / 256;
    auto fetch = [&](int tile) {
        if (tile < tiles)
            for (int i = 0; i < per; i++)
                __pipeline_memcpy_async(&stages[tile % kStages * (kTile / 4) + i * 256 + t],
                                        &reinterpret_cast<const float4*>(in)[tile * (kTile / 4) + i * 256 + t], 16);
        __pipeline_commit();
    };
    for (int s = 0; s < kStages - 1; s++) fetch(s);
    float sum = 0;
    for (int tile = 0; tile < tiles; tile++) {
        __pipeline_wait_prior(kStages - 2);
        __syncthreads();
        fetch(tile + kStages - 1);
        const float4* now = &stages[tile % kStages * (kTile / 4)];
        for (int i = 0; i < per; i++) {
            float4 v = now[i * 256 + 255 - t];
            sum += v.x + v.y + v.z + v.w;
        }
    }
    out[t] = sum;
}

__global__ void in_groups(const int* in, int* out) {
    __shared__ int tile[256];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile, in + blockIdx.x * 256, sizeof(tile));
    cg::wait(block);
    auto warp = cg::tiled_partition<32>(block);
    int sum = cg::reduce(warp, tile[255 - block.thread_rank()], cg::plus<int>());
    auto quarter = cg::tiled_partition<8>(warp);
    int most = quarter.shfl_xor(sum, 1) > 0 ? sum : 0;
    if (warp.thread_rank() == 0) atomicAdd(out, most);
    if (block.thread_rank() < 20) {
        auto active = cg::coalesced_threads();
        if (active.thread_rank() == 0) atomicAdd(out + 1, int(active.size()));
    }
}

__global__ void cub_in_block(const int* in, int* sorted, int* scanned, int* total) {
    using Reduce = cub::BlockReduce<int, 128>;
    using Scan = cub::BlockScan<int, 128>;
    using Sort = cub::BlockRadixSort<int, 128, 4>;
    __shared__ union {
        Reduce::TempStorage reduce;
        Scan::TempStorage scan;
        Sort::TempStorage sort;
    } room;
    int keys[4], t = threadIdx.x;
    for (int i = 0; i < 4; i++) keys[i] = in[t * 4 + i];
    int sum = Reduce(room.reduce).Sum(keys[0] + keys[1] + keys[2] + keys[3]);
    if (t == 0) *total = sum;
    __syncthreads();
    int before;
    Scan(room.scan).ExclusiveSum(keys[0], before);
    scanned[t] = before;
    __syncthreads();
    Sort(room.sort).Sort(keys);
    for (int i = 0; i < 4; i++) sorted[t * 4 + i] = keys[i];
}

__global__ void make_table(float* table) { table[threadIdx.x] = float(threadIdx.x) * 0.5f; }
__global__ void look_up(const float* table, const int* in, float* out) { out[threadIdx.x] = table[in[threadIdx.x] & 255]; }

// The table is made by the first call and used by all.
float* table_of_first_call() {
    static float* table = nullptr;
    if (!table) {
        CUDA_OK(cudaMalloc(&table, 256 * sizeof(float)));
        make_table<<<1, 256>>>(table);
    }
    return table;
}

int main() {
    const int n = 64;
    std::vector<float> a(n * n), b(n * n), wanted(n * n);
    for (int i = 0; i < n * n; i++) a[i] = float(i % 7 - 3), b[i] = float(i % 5 - 2);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++) wanted[i * n + j] += a[i * n + k] * b[k * n + j];
    Buffer<float> da(a), db(b), dc(size_t(n * n));
    split_k<<<dim3(n / 16, n / 16, 4), dim3(16, 16)>>>(da, db, dc, n, n / 4);
    expect_all("split-K", wanted, dc.host());

    const int tiles = 6;
    std::vector<float> in(size_t(tiles) * kTile), sums(256);
    for (size_t i = 0; i < in.size(); i++) in[i] = float(i % 11);
    for (size_t i = 0; i < in.size(); i++) sums[255 - i / 4 % 256] += in[i];
    Buffer<float> din(in), dout(256);
    CUDA_OK(cudaFuncSetAttribute(pipelined, cudaFuncAttributeMaxDynamicSharedMemorySize, kStages * kTile * 4));
    pipelined<<<1, 256, kStages * kTile * 4>>>(din, dout, tiles);
    expect_all("pipeline", sums, dout.host());

    std::vector<int> numbers(512);
    int all = 0;
    for (int i = 0; i < 512; i++) all += numbers[i] = i * 37 % 101 + 1;
    Buffer<int> dn(numbers), groups(2), sorted(512), scanned(128), total(1);
    in_groups<<<2, 256>>>(dn, groups);
    expect_equal("groups", 0, all, groups.host()[0]);
    expect_equal("groups", 1, 40, groups.host()[1]);
    cub_in_block<<<1, 128>>>(dn, sorted, scanned, total);
    expect_equal("total", 0, all, total.host()[0]);
    auto in_order = sorted.host();
    for (int i = 1; i < 512; i++)
        if (in_order[i - 1] > in_order[i]) mismatch("sorted", i, in_order[i - 1], in_order[i]);
    int before = 0;
    for (int i = 0; i < 128; before += numbers[4 * i++]) expect_equal("scan", i, before, scanned.host()[i]);

    Buffer<float> found(256);
    for (int call = 0; call < 2; call++) look_up<<<1, 256>>>(table_of_first_call(), dn, found);
    for (int i = 0; i < 256; i++) expect_equal("table", i, 0.5f * float(numbers[i] & 255), found.host()[i]);
    return passed();
}
