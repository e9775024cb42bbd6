// ld.param through a pointer to device memory.
// expect-exit: nonzero
// expect: Invalid parameter read of size 4 bytes
// expect: peek\(.*param_window\.cu:@fault\b
#include "report.h"

__global__ void peek(const int* in, int* out) {
    int v;
    asm volatile("ld.param.u32 %0, [%1];" : "=r"(v) : "l"(in));  // @fault
    out[0] = v;
}

int main() {
    int *in, *out;
    cudaMalloc(&in, 128);
    cudaMalloc(&out, 128);
    cudaMemset(in, 0, 128);
    peek<<<1, 1>>>(in, out);
    return report();
}
