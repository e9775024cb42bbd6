// A barrier for 96 threads in a block where only 64 will ever come to it.
// expect-exit: nonzero
// expect: Deadlock|Barrier not reached by all threads
// expect: wait\(.*barrier_count_too_large\.cu:@fault\b
// expect: block \(0,0,0\)
#include "report.h"

__global__ void wait(int* data) {
    if (threadIdx.x < 64) {
        asm volatile("bar.sync 3, 96;");  // @fault
        data[threadIdx.x] = 1;
    } else {
        data[threadIdx.x] = 2;
        asm volatile("bar.sync 4, 96;");
    }
}

int main() {
    int* d;
    cudaMalloc(&d, 96 * sizeof(int));
    wait<<<1, 96>>>(d);
    return report();
}
