// The fault is in a device function that is really called; the message names the kernel and that line.
// expect-exit: nonzero
// expect: Invalid __global__ write of (size )?2\b
// expect: outer\(.*
// expect: in_called_function\.cu:@fault\b
// expect: thread \(17,0,0\) in block \(0,0,0\)
// expect: allocation at 0x[0-9a-f]+ of (size )?34\b
// expect-stdout: ^code 700 cudaErrorIllegalAddress$
#include "report.h"

__device__ __noinline__ void store(short* data, int i) {
    data[i] = short(i);  // @fault
}

__global__ void outer(short* data, int n) {
    if (threadIdx.x <= n) store(data, threadIdx.x);
}

int main() {
    short* d;
    cudaMalloc(&d, 17 * sizeof(short));
    outer<<<1, 64>>>(d, 17);
    return report();
}
