// A histogram with one bin too few.
// expect-exit: nonzero
// expect: Invalid __global__ (atomic|write|read)\b.*size 4\b
// expect: histogram\(.*atomic_past_end\.cu:@fault\b
// expect: thread \(41,0,0\) in block \(1,0,0\)
// expect: is 0 bytes (after|past).*allocation at 0x[0-9a-f]+ of (size )?40\b
// expect-stdout: ^code 700 cudaErrorIllegalAddress$
#include "report.h"

__global__ void histogram(unsigned* bins, const int* values) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&bins[values[i]], 1u);  // @fault
}

int main() {
    int h[128], *values;
    unsigned* bins;
    for (int i = 0; i < 128; i++) h[i] = i == 105 ? 10 : i % 10;
    cudaMalloc(&values, sizeof(h));
    cudaMalloc(&bins, 10 * sizeof(unsigned));
    cudaMemcpy(values, h, sizeof(h), cudaMemcpyHostToDevice);
    cudaMemset(bins, 0, 10 * sizeof(unsigned));
    histogram<<<2, 64>>>(bins, values);
    return report();
}
