// Constant memory is a window of its own: ordinary device memory is not seen through it.
// expect-exit: nonzero
// expect: Invalid __constant__ read of size 4 bytes
// expect: peek\(.*const_window\.cu:@fault\b
// expect: thread \(0,0,0\) in block \(0,0,0\)
#include "report.h"

__constant__ float table[16];

__global__ void peek(const float* in, float* out) {
    float v;
    asm volatile("ld.const.f32 %0, [%1];" : "=f"(v) : "l"(in + threadIdx.x));  // @fault
    out[threadIdx.x] = v + table[threadIdx.x & 15];
}

int main() {
    float *in, *out;
    cudaMalloc(&in, 128);
    cudaMalloc(&out, 128);
    cudaMemset(in, 0, 128);
    peek<<<1, 32>>>(in, out);
    return report();
}
