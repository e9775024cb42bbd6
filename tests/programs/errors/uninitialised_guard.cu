// An undefined predicate guards an atomic.
// args: --check init
// expect-exit: nonzero
// expect: Uninitiali[sz]ed __global__ read of size 4 bytes
// expect: count\(.*uninitialised_guard\.cu:@fault\b
// expect: the value decides (a branch|whether an instruction is carried out) in uninitialised_guard\.cu
// expect: thread \(7,0,0\) in block \(0,0,0\)
#include "report.h"

__global__ void count(const int* in, int* total) {
    int v = in[threadIdx.x];  // @fault
    asm volatile("{.reg .pred p; setp.gt.s32 p, %0, 3; @p red.global.add.s32 [%1], 1;}" ::"r"(v), "l"(total) : "memory");
}

int main() {
    int *in, *total;
    cudaMalloc(&in, 128);
    cudaMalloc(&total, 4);
    cudaMemset(in, 0, 28);
    cudaMemset(total, 0, 4);
    count<<<1, 32>>>(in, total);
    return report();
}
