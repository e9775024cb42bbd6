// Every block adds to one number without an atomic: on a GPU updates get lost.
// args: --check race
// expect: ^========= Race on __global__ memory: read of size 4 bytes without synchronisation between two threads$
// expect: ^=========     at add\(float\*, float const\*\) in race_global_update.cu:@update$
// expect: ^=========     by thread \(0,0,0\) in block \(1,0,0\)$
// expect: ^=========     with thread \(0,0,0\) in block \(0,0,0\) in race_global_update.cu:@update$
// expect-stdout: ^code 719 cudaErrorLaunchFailure$
// expect-exit: nonzero
#include "report.h"

__global__ void add(float* total, const float* x) {
    if (threadIdx.x == 0) total[0] += x[blockIdx.x];  // @update
}

int main() {
    float values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, *total, *x;
    cudaMalloc(&total, sizeof *total);
    cudaMalloc(&x, sizeof values);
    cudaMemset(total, 0, sizeof *total);
    cudaMemcpy(x, values, sizeof values, cudaMemcpyHostToDevice);
    add<<<8, 32>>>(total, x);
    return report();
}
