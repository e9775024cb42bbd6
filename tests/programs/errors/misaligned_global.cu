// A float4 load from an address that is a multiple of 4 only.
// expect-exit: nonzero
// expect: Misaligned __global__ read of (size )?16\b
// expect: load\(.*misaligned_global\.cu:@fault\b
// expect: thread \(0,0,0\) in block \(0,0,0\)
// expect: Address 0x[0-9a-f]*4\b
// expect: allocation at 0x[0-9a-f]+ of (size )?1024\b
// expect-stdout: ^code 716 cudaErrorMisalignedAddress$
#include "report.h"

__global__ void load(const float* in, float4* out) {
    out[threadIdx.x] = reinterpret_cast<const float4*>(in + 1)[threadIdx.x];  // @fault
}

int main() {
    float *in;
    float4* out;
    cudaMalloc(&in, 256 * sizeof(float));
    cudaMalloc(&out, 32 * sizeof(float4));
    load<<<1, 32>>>(in, out);
    return report();
}
