// A flag that nobody sets: all blocks wait, none is left that could.
// expect-exit: nonzero
// expect: Deadlock: this thread waits in a loop, as all others do that have not ended, and none is left to change what it waits for
// expect: wait_for\(.*spin_for_ever\.cu:@fault\b
#include "report.h"

__global__ void wait_for(int* flag, int* out) {
    if (blockIdx.x == 0 && threadIdx.x == 0) out[0] = 1;
    while (atomicAdd(flag, 0) == 0) __nanosleep(100);  // @fault
    out[1] = 1;
}

int main() {
    int *flag, *out;
    cudaMalloc(&flag, 4);
    cudaMalloc(&out, 8);
    cudaMemset(flag, 0, 4);
    wait_for<<<3, 64>>>(flag, out);
    return report();
}
