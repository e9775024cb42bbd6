// Threads of one block hand over values in global memory without a barrier.
// args: --check race
// expect: ^========= Race on __global__ memory: read of size 4 bytes without synchronisation between two threads$
// expect: ^=========     by thread \(0,0,0\) in block \(0,0,0\)$
// expect: ^=========     with thread \(1,0,0\) in block \(0,0,0\) in race_global_barrier.cu:@write$
// expect-stdout: ^code 719 cudaErrorLaunchFailure$
// expect-exit: nonzero
#include "report.h"

__global__ void turn(int* data, int* out) {
    data[threadIdx.x] = int(threadIdx.x);  // @write
    out[threadIdx.x] = data[threadIdx.x ^ 1];
}

int main() {
    int *data, *out;
    cudaMalloc(&data, 256);
    cudaMalloc(&out, 256);
    cudaMemset(data, 255, 256);
    turn<<<1, 64>>>(data, out);
    return report();
}
