// An int read out of a per-thread byte buffer at an odd offset.
// expect-exit: nonzero
// expect: Misaligned __local__ read of (size )?4\b
// expect: parse\(.*misaligned_local\.cu:@fault\b
// expect: thread \(0,0,0\) in block \(0,0,0\)
// expect-stdout: ^code 716 cudaErrorMisalignedAddress$
#include "report.h"

__global__ void parse(int* out, int offset) {
    alignas(4) unsigned char buffer[64];
    for (int i = 0; i < 64; i++) buffer[(i * 5 + offset) % 64] = (unsigned char)i;
    int v = *reinterpret_cast<int*>(buffer + offset);  // @fault
    out[threadIdx.x] = v;
}

int main() {
    int* out;
    cudaMalloc(&out, 32 * sizeof(int));
    parse<<<1, 32>>>(out, 5);
    return report();
}
