// One element past the end of an allocation: `<=` where `<` was meant.
// expect-exit: nonzero
// expect: Invalid __global__ write of (size )?4\b
// expect: set_all\(float ?\*, int\).*global_write_past_end\.cu:@fault\b
// expect: thread \(104,0,0\) in block \(7,0,0\)
// expect: Address 0x[0-9a-f]+ is 0 bytes (after|past).*allocation at 0x[0-9a-f]+ of (size )?4000\b
// expect-stdout: ^code 700 cudaErrorIllegalAddress$
#include "report.h"

__global__ void set_all(float* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) data[i] = 1.0f;  // @fault
}

int main() {
    float *d, *other;
    cudaMalloc(&d, 1000 * sizeof(float));
    cudaMalloc(&other, 1000 * sizeof(float));
    set_all<<<8, 128>>>(d, 1000);
    return report();
}
