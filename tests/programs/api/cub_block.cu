// CUB: block-wide reduction, scan and radix sort, and a device-wide reduction.
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_reduce.cuh>

#include <algorithm>

#include "check.h"

constexpr int kThreads = 128;

__global__ void block_work(const int* in, int* sums, int* scans, int* sorted) {
    using Reduce = cub::BlockReduce<int, kThreads>;
    using Scan = cub::BlockScan<int, kThreads>;
    using Sort = cub::BlockRadixSort<int, kThreads, 2>;
    __shared__ union {
        Reduce::TempStorage reduce;
        Scan::TempStorage scan;
        Sort::TempStorage sort;
    } storage;
    const int* mine = in + blockIdx.x * kThreads * 2;
    int items[2] = {mine[threadIdx.x * 2], mine[threadIdx.x * 2 + 1]};
    int sum = Reduce(storage.reduce).Sum(items[0] + items[1]);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
    __syncthreads();
    int before;
    Scan(storage.scan).ExclusiveSum(items[0], before);
    scans[blockIdx.x * kThreads + threadIdx.x] = before;
    __syncthreads();
    Sort(storage.sort).Sort(items);
    sorted[(blockIdx.x * kThreads + threadIdx.x) * 2] = items[0];
    sorted[(blockIdx.x * kThreads + threadIdx.x) * 2 + 1] = items[1];
}

int main() {
    const int blocks = 3, n = blocks * kThreads * 2;
    int *in, *sums, *scans, *sorted, *total;
    CHECK(cudaMallocManaged(&in, n * sizeof(int)));
    CHECK(cudaMallocManaged(&sums, blocks * sizeof(int)));
    CHECK(cudaMallocManaged(&scans, blocks * kThreads * sizeof(int)));
    CHECK(cudaMallocManaged(&sorted, n * sizeof(int)));
    CHECK(cudaMallocManaged(&total, sizeof(int)));
    unsigned state = 3;
    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        in[i] = int(state >> 16) - 30000;
    }
    block_work<<<blocks, kThreads>>>(in, sums, scans, sorted);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    int everything = 0;
    for (int b = 0; b < blocks; b++) {
        std::vector<int> part(in + b * 256, in + (b + 1) * 256);
        int sum = 0, running = 0;
        for (int v : part) sum += v;
        everything += sum;
        EXPECT_EQ(sums[b], sum);
        for (int t = 0; t < kThreads; t++) {
            EXPECT_EQ(scans[b * kThreads + t], running);
            running += part[t * 2];
        }
        std::sort(part.begin(), part.end());
        for (int i = 0; i < 256; i++) EXPECT_EQ(sorted[b * 256 + i], part[i]);
    }
    size_t bytes = 0;
    CHECK(cub::DeviceReduce::Sum(nullptr, bytes, in, total, n));
    void* scratch;
    CHECK(cudaMalloc(&scratch, bytes));
    CHECK(cub::DeviceReduce::Sum(scratch, bytes, in, total, n));
    CHECK(cudaDeviceSynchronize());
    EXPECT_EQ(*total, everything);
    return pass();
}
