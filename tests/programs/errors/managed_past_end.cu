// Managed memory has bounds too, and the message gives the address the program knows.
// expect-exit: nonzero
// expect: Invalid __global__ read of (size )?4\b
// expect: copy\(.*managed_past_end\.cu:@fault\b
// expect: thread \(50,0,0\) in block \(0,0,0\)
// expect: is 0 bytes (after|past).*allocation at 0x[0-9a-f]+ of (size )?200\b
// expect-stdout: ^code 700 cudaErrorIllegalAddress$
#include "report.h"

__global__ void copy(const int* in, int* out, int n) {
    int i = threadIdx.x;
    if (i < n) {
        int v = in[i];  // @fault
        out[i] = v;
    }
}

int main() {
    int *in, *out;
    cudaMallocManaged(&in, 50 * sizeof(int));
    cudaMallocManaged(&out, 64 * sizeof(int));
    copy<<<1, 64>>>(in, out, 51);
    return report();
}
