// PTX that NVIDIA's assembler refuses: a card would never see it.
// expect-exit: nonzero
// expect: ptxas refuses the PTX of this program
// expect: ptxas.*error
// expect-stdout: code (218|1|98|500|719|400|209) 
#include "report.h"

__global__ void odd(int* out) {
    int v;
    asm volatile("add.s32 %0, %1, %1, %1;" : "=r"(v) : "r"(int(threadIdx.x)));
    out[threadIdx.x] = v;
}

int main() {
    int* out;
    cudaMalloc(&out, 128);
    odd<<<1, 32>>>(out);
    return report();
}
