// Waits to be killed while a kernel runs without an end.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void warm(int* data) { data[threadIdx.x] = 0; }

__global__ void endless(volatile int* flag) {
    while (*flag == 0) {}
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
