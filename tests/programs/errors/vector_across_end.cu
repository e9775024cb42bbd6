// A float4 that begins inside the allocation and ends outside it.
// expect-exit: nonzero
// expect: Invalid __global__ read of (size )?16\b
// expect: load4\(.*vector_across_end\.cu:@fault\b
// expect: thread \(10,0,0\) in block \(0,0,0\)
// expect: allocation at 0x[0-9a-f]+ of (size )?168\b
// expect-stdout: ^code 700 cudaErrorIllegalAddress$
#include "report.h"

__global__ void load4(const float4* in, float4* out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = in[i];  // @fault
}

int main() {
    float4 *in, *out;
    cudaMalloc(&out, 64 * sizeof(float4));
    cudaMalloc(&in, 42 * sizeof(float));
    load4<<<1, 32>>>(in, out, 11);
    return report();
}
