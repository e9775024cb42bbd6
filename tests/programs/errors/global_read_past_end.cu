// A stencil that reads its right neighbour also in the last thread.
// expect-exit: nonzero
// expect: Invalid __global__ read of (size )?8\b
// expect: difference\(.*global_read_past_end\.cu:@fault\b
// expect: thread \(63,0,0\) in block \(1,0,0\)
// expect: is 0 bytes (after|past).*allocation at 0x[0-9a-f]+ of (size )?1024\b
// expect-stdout: ^code 700 cudaErrorIllegalAddress$
#include "report.h"

__global__ void difference(const double* in, double* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double here = in[i];
    double right = in[i + 1];  // @fault
    out[i] = right - here;
}

int main() {
    double *in, *out;
    cudaMalloc(&in, 128 * sizeof(double));
    cudaMalloc(&out, 128 * sizeof(double));
    cudaMemset(in, 0, 128 * sizeof(double));
    difference<<<2, 64>>>(in, out);
    return report();
}
