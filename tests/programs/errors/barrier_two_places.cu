// Half of the block waits at one __syncthreads(), half at another: no barrier is reached by all threads.
// expect-exit: nonzero
// expect: Barrier not reached by all threads: this thread comes to one barrier while threads 0-31 of the block wait at another
// expect: split\(.*barrier_two_places\.cu:@fault\b
// expect: the others wait in barrier_two_places\.cu:@other\b
#include "report.h"

__global__ void split(int* out) {
    __shared__ int tile[64];
    tile[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 32) {
        __syncthreads();  // @other
        out[threadIdx.x] = tile[63 - threadIdx.x];
    } else {
        out[threadIdx.x] = 2 * tile[threadIdx.x];
        __syncthreads();  // @fault
        out[threadIdx.x] += tile[63 - threadIdx.x];
    }
}

int main() {
    int* out;
    cudaMalloc(&out, 64 * sizeof(int));
    split<<<1, 64>>>(out);
    return report();
}
