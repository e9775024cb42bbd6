// Waits to be killed while a kernel runs without an end.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void warm(int* data) { data[threadIdx.x] = 0; }

// It works: a loop that only waits for nobody would be found, and ended.
__global__ void endless(volatile int* counts) {
    while (counts[threadIdx.x] >= 0) counts[threadIdx.x] = (counts[threadIdx.x] + 1) % 1000;
}

int main() {
    int* flag;
    cudaMalloc(&flag, 32 * sizeof(int));
    warm<<<1, 32>>>(flag);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    endless<<<1, 32>>>(flag);
    printf("ready\n");
    fflush(stdout);
    return cudaDeviceSynchronize() != cudaSuccess;
}
