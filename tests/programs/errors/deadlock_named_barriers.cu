// Each warp waits at a barrier of its own for the other one.
// expect-exit: nonzero
// expect: Deadlock|Barrier not reached by all threads
// expect: crossed\(.*deadlock_named_barriers\.cu:(@one|@two)\b
// expect: thread \(\d+,0,0\).*block \(0,0,0\)
#include "report.h"

__global__ void crossed(int* data) {
    if (threadIdx.x < 32) {
        asm volatile("bar.sync 1, 64;");  // @one
    } else {
        asm volatile("bar.sync 2, 64;");  // @two
    }
    data[threadIdx.x] = 1;
}

int main() {
    int* d;
    cudaMalloc(&d, 64 * sizeof(int));
    crossed<<<1, 64>>>(d);
    return report();
}
