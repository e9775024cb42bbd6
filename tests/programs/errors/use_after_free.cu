// The buffer was freed before the kernel ran.
// expect-exit: nonzero
// expect: freed memory.*__global__ read of (size )?4\b
// expect: sum\(.*use_after_free\.cu:@fault\b
// expect: thread \(0,0,0\) in block \(0,0,0\)
// expect: allocation at 0x[0-9a-f]+ of (size )?512\b
// expect-stdout: ^code 700 cudaErrorIllegalAddress$
#include "report.h"

__global__ void sum(const float* in, float* out) {
    float v = in[threadIdx.x];  // @fault
    out[threadIdx.x] = v * 2;
}

int main() {
    float *in, *out;
    cudaMalloc(&in, 128 * sizeof(float));
    cudaMalloc(&out, 128 * sizeof(float));
    cudaMemset(in, 0, 512);
    cudaFree(in);
    sum<<<1, 128>>>(in, out);
    return report();
}
