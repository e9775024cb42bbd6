// A barrier of blocks by a counter: with so much shared memory only one block fits on a multiprocessor, and those
// that wait are waited for by blocks that cannot start. A card would hang.
// expect-exit: nonzero
// expect: Deadlock: this thread waits in a loop, as all others do, for blocks that cannot start: 128 of 160 fit on the card at once
// expect: meet\(.*spin_too_many_blocks\.cu:@fault\b
#include "report.h"

__global__ void meet(unsigned* counter, int* out) {
    extern __shared__ int tile[];
    tile[threadIdx.x] = blockIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(counter, 1u);
        while (*static_cast<volatile unsigned*>(counter) < gridDim.x) {}  // @fault
    }
    __syncthreads();
    out[blockIdx.x * 32 + threadIdx.x] = tile[31 - threadIdx.x];
}

int main() {
    unsigned* counter;
    int* out;
    cudaMalloc(&counter, 4);
    cudaMalloc(&out, 160 * 32 * sizeof(int));
    cudaMemset(counter, 0, 4);
    cudaFuncSetAttribute(meet, cudaFuncAttributeMaxDynamicSharedMemorySize, 90 << 10);
    meet<<<160, 32, 90 << 10>>>(counter, out);
    return report();
}
