// Holds device, pinned and managed memory and a stream, then waits to be killed.
#include <cuda_runtime.h>
#include <unistd.h>

#include <cstdio>

__global__ void touch(int* data) { data[threadIdx.x] += 1; }

int main() {
    int *device, *pinned, *managed;
    cudaStream_t stream;
    cudaMalloc(&device, 1 << 20);
    cudaMallocHost(&pinned, 1 << 20);
    cudaMallocManaged(&managed, 1 << 20);
    cudaStreamCreate(&stream);
    managed[0] = 1;
    touch<<<1, 32, 0, stream>>>(managed);
    if (cudaDeviceSynchronize() != cudaSuccess || managed[0] != 2) return 1;
    printf("ready\n");
    fflush(stdout);
    for (;;) pause();
}
