// The input was allocated but only its first half was ever written; what is read decides a branch.
// args: --check init
// expect-exit: nonzero
// expect: Uninitiali[sz]ed __global__ read of (size )?4\b
// expect: scale_positive\(.*uninitialised_global\.cu:@fault\b
// expect: the value decides (a branch|whether an instruction is carried out) in uninitialised_global\.cu:@use\b
// expect: thread \(0,0,0\) in block \(1,0,0\)
// expect: allocation at 0x[0-9a-f]+ of (size )?512\b
#include "report.h"

__global__ void scale_positive(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];  // @fault
    if (v > 0) out[i] = 2 * v;  // @use
}

int main() {
    float h[64] = {}, *in, *out;
    cudaMalloc(&in, 128 * sizeof(float));
    cudaMalloc(&out, 128 * sizeof(float));
    cudaMemcpy(in, h, sizeof(h), cudaMemcpyHostToDevice);
    scale_positive<<<2, 64>>>(in, out);
    return report();
}
