// Half of the block waits for all threads at barrier 1, half for all threads at barrier 2.
// expect-exit: nonzero
// expect: Deadlock: threads 0-31 wait at barrier 1, where 32 of 64 arrived; threads 32-63 wait at barrier 2, where 32 of 64 arrived
// expect: crossed\(.*barrier_two_numbers\.cu
#include "report.h"

__global__ void crossed(int* out) {
    if (threadIdx.x < 32) asm volatile("bar.sync 1;" ::: "memory");
    else asm volatile("bar.sync 2;" ::: "memory");
    out[threadIdx.x] = 1;
}

int main() {
    int* out;
    cudaMalloc(&out, 64 * sizeof(int));
    crossed<<<1, 64>>>(out);
    return report();
}
