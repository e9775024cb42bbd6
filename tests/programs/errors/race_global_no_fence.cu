// The last block adds up what the others left, but nobody has fenced what it wrote.
// args: --check race
// expect: ^========= Race on __global__ memory: read of size 4 bytes without synchronisation between two threads$
// expect: ^=========     at reduce\(float\*, unsigned int\*, float\*\) in race_global_no_fence.cu:@read$
// expect: ^=========     by thread \(0,0,0\) in block \(7,0,0\)$
// expect: ^=========     with thread \(0,0,0\) in block \(0,0,0\) in race_global_no_fence.cu:@write$
// expect-stdout: ^code 719 cudaErrorLaunchFailure$
// expect-exit: nonzero
#include "report.h"

__global__ void reduce(float* parts, unsigned* counter, float* total) {
    if (threadIdx.x) return;
    parts[blockIdx.x] = float(blockIdx.x + 1);  // @write
    if (atomicAdd(counter, 1u) != gridDim.x - 1) return;
    float sum = 0;
    for (unsigned i = 0; i < gridDim.x; i++) sum += parts[i];  // @read
    *total = sum;
}

int main() {
    float *parts, *total;
    unsigned* counter;
    cudaMalloc(&parts, 32);
    cudaMalloc(&total, 4);
    cudaMalloc(&counter, 4);
    cudaMemset(counter, 0, 4);
    cudaMemset(parts, 0, 32);
    reduce<<<8, 32>>>(parts, counter, total);
    return report();
}
