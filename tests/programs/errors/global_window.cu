// ld.global on an address of shared memory: a generic load would find it, this one must not.
// expect-exit: nonzero
// expect: Invalid __global__ read of size 4 bytes
// expect: peek\(.*global_window\.cu:@fault\b
#include "report.h"

__global__ void peek(float* out) {
    __shared__ float tile[32];
    tile[threadIdx.x] = 1;
    __syncthreads();
    float v;
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(&tile[31 - threadIdx.x]));  // @fault
    out[threadIdx.x] = v;
}

int main() {
    float* out;
    cudaMalloc(&out, 128);
    peek<<<1, 32>>>(out);
    return report();
}
