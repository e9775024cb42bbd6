// The left neighbour of the very first element.
// expect-exit: nonzero
// expect: Invalid __global__ read of (size )?4\b
// expect: smooth\(.*global_read_before_start\.cu:@fault\b
// expect: thread \(0,0,0\) in block \(0,0,0\)
// expect: is 4 bytes before.*allocation at 0x[0-9a-f]+ of (size )?800\b
// expect-stdout: ^code 700 cudaErrorIllegalAddress$
#include "report.h"

__global__ void smooth(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int left = in[i - 1];  // @fault
    out[i] = left;
}

int main() {
    int *out, *in;
    cudaMalloc(&in, 200 * sizeof(int));
    cudaMalloc(&out, 200 * sizeof(int));
    smooth<<<4, 64>>>(in, out, 200);
    return report();
}
