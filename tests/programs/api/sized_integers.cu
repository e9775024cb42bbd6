// uintptr_t and its kin without <stdint.h>, which cuda_runtime.h brought along before CUDA 13.
#include <cuda_runtime.h>

__global__ void mark(float* x, uint8_t* aligned) { *aligned = ((uintptr_t)x & 15) == 0; }

int main() {
    float* x;
    uint8_t *device, aligned = 0;
    cudaMalloc(&x, 16);
    cudaMalloc(&device, 1);
    mark<<<1, 1>>>(x, device);
    cudaMemcpy(&aligned, device, 1, cudaMemcpyDeviceToHost);
    return aligned == 1 && ((uintptr_t)x & 15) == 0 ? 0 : 1;
}
