// Occupancy queries: limits by threads, by shared memory and by registers; suggested block size.
#include "check.h"

__global__ void plain(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x; }

__global__ void with_shared(int* out) {
    extern __shared__ int tile[];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void with_static(int* out) {
    __shared__ int tile[8192];  // 32 KiB
    tile[threadIdx.x * 8] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[(threadIdx.x ^ 1) * 8];
}

struct OneIntPerThread {
    __host__ __device__ size_t operator()(int threads) const { return threads * sizeof(int); }
};

int main() {
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    int blocks = -1;
    for (int threads = 32; threads <= 1024; threads *= 2) {
        CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, threads, 0));
        int limit = p.maxThreadsPerMultiProcessor / threads;
        if (limit > p.maxBlocksPerMultiProcessor) limit = p.maxBlocksPerMultiProcessor;
        EXPECT_EQ(blocks, limit);
    }
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 33, 0));
    EXPECT(blocks >= 1 && blocks <= p.maxThreadsPerMultiProcessor / 64);

    // 40 KiB of dynamic shared memory and what the system reserves for each block.
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, with_shared, 128, 40 << 10));
    EXPECT_EQ(blocks, int(p.sharedMemPerMultiprocessor / ((40 << 10) + p.reservedSharedMemPerBlock)));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, with_static, 64, 0));
    EXPECT_EQ(blocks, int(p.sharedMemPerMultiprocessor / ((32 << 10) + p.reservedSharedMemPerBlock)));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, with_static, 64, 0, cudaOccupancyDefault));
    EXPECT_EQ(blocks, int(p.sharedMemPerMultiprocessor / ((32 << 10) + p.reservedSharedMemPerBlock)));

    int grid = 0, block = 0;
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, plain, 0, 0));
    EXPECT(block >= 32 && block <= 1024 && block % 32 == 0);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, block, 0));
    EXPECT_EQ(blocks * block, p.maxThreadsPerMultiProcessor);
    EXPECT_EQ(grid, blocks * p.multiProcessorCount);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, plain, 0, 96));
    EXPECT(block <= 96 && block >= 32);
    CHECK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, with_shared,
                                                         OneIntPerThread(), 0));
    EXPECT(block >= 32 && block <= 1024);

    size_t dynamic = 0;
    CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&dynamic, with_shared, 2, 128));
    EXPECT(dynamic >= 1024 && dynamic <= p.sharedMemPerMultiprocessor / 2);

    // Launch with the suggestion.
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, plain, 0, 256));
    int *d, last = -1;
    CHECK(cudaMalloc(&d, 2 * block * sizeof(int)));
    plain<<<2, block>>>(d);
    CHECK(cudaMemcpy(&last, d + 2 * block - 1, sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT_EQ(last, block - 1);
    CHECK(cudaFree(d));
    return pass();
}
