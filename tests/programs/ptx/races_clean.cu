// Programs that share global memory as they should: the race check has nothing to say.
// args: --check race
#include <cooperative_groups.h>
#include <cuda_fp16.h>

#include "../check.h"

#define EXPECT(condition) if (!(condition)) return printf("line %d: " #condition "\n", __LINE__), 1

namespace cg = cooperative_groups;

// The block that comes last adds up what the others left.
__global__ void last_block(const float* x, float* parts, unsigned* counter, float* total) {
    __shared__ bool last;
    float sum = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int offset = 16; offset; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(counter, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    float all = threadIdx.x < gridDim.x ? parts[threadIdx.x] : 0;
    for (int offset = 16; offset; offset /= 2) all += __shfl_down_sync(~0u, all, offset);
    if (threadIdx.x == 0) {
        *total = all;
        *counter = 0;
    }
}

// Everybody who finds something says so, with the same value.
__global__ void find(const float* x, int* found) {
    if (x[blockIdx.x * blockDim.x + threadIdx.x] > 3) *found = 1;
}

__device__ int lock;

// One thread of each warp at a time, by a lock; the number itself is an ordinary one.
__global__ void locked(int* number) {
    if (threadIdx.x % 32) return;
    while (atomicCAS(&lock, 0, 1)) {}
    __threadfence();
    *number += 1;
    __threadfence();
    atomicExch(&lock, 0);
}

// Each block passes a sum on to the next one through a flag.
__global__ void chain(volatile int* flags, int* sums) {
    if (threadIdx.x) return;
    int b = int(blockIdx.x), before = 0;
    if (b) {
        while (!flags[b - 1]) {}
        __threadfence();
        before = sums[b - 1];
    }
    sums[b] = before + b;
    __threadfence();
    flags[b] = 1;
}

__global__ void grid_steps(int* a, int* b) {
    int i = int(blockIdx.x * blockDim.x + threadIdx.x), n = int(gridDim.x * blockDim.x);
    a[i] = i;
    cg::this_grid().sync();
    b[i] = a[(i + blockDim.x) % n];
    cg::this_grid().sync();
    a[i] = b[n - 1 - i];
}

// Neighbours of two bytes and of one share a word, and nothing more.
__global__ void small(__half* h, unsigned char* c) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    h[i] = __float2half(float(i));
    c[i] = (unsigned char)(i);
}

__global__ void block_steps(int* data, int* out) {
    data[threadIdx.x] = int(threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = data[blockDim.x - 1 - threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = out[threadIdx.x ^ 1];
}

__global__ void histogram(const float* x, unsigned* bins) {
    atomicAdd(&bins[int(x[blockIdx.x * blockDim.x + threadIdx.x])], 1u);
}

int main() {
    const int n = 256;
    float *x, *parts, *total;
    unsigned *counter, *bins;
    int *a, *b;
    __half* h;
    unsigned char* c;
    CUDA_OK(cudaMallocManaged(&x, n * sizeof *x));
    CUDA_OK(cudaMallocManaged(&total, sizeof *total));
    CUDA_OK(cudaMalloc(&parts, n * sizeof *parts));
    CUDA_OK(cudaMallocManaged(&counter, sizeof *counter));
    CUDA_OK(cudaMallocManaged(&bins, 8 * sizeof *bins));
    CUDA_OK(cudaMallocManaged(&a, n * sizeof *a));
    CUDA_OK(cudaMallocManaged(&b, n * sizeof *b));
    CUDA_OK(cudaMalloc(&h, n * sizeof *h));
    CUDA_OK(cudaMalloc(&c, n));
    for (int i = 0; i < n; i++) x[i] = float(i % 8);
    for (int i = 0; i < 2; i++) last_block<<<8, 32>>>(x, parts, counter, total);
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT(*total == 8 * 28 * 4);
    find<<<8, 32>>>(x, a);
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT(*a == 1);
    *a = 0;
    locked<<<4, 128>>>(a);
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT(*a == 16);
    for (int i = 0; i < n; i++) a[i] = b[i] = 0;
    chain<<<8, 32>>>(a, b);
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT(b[7] == 28);
    void* arguments[] = {&a, &b};
    CUDA_OK(cudaLaunchCooperativeKernel((void*)grid_steps, 8, 32, arguments, 0, 0));
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT(a[0] == (n - 1 + 32) % n);
    small<<<8, 32>>>(h, c);
    block_steps<<<1, 64>>>(a, b);
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT(b[0] == 63);
    for (int i = 0; i < 8; i++) bins[i] = 0;
    histogram<<<8, 32>>>(x, bins);
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT(bins[3] == 32);
    return passed();
}
