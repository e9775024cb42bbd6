// A buffer that was never allocated.
// expect-exit: nonzero
// expect: Invalid __global__ write of (size )?4\b
// expect: fill\(.*null_pointer\.cu:@fault\b
// expect: thread \(0,0,0\) in block \(0,0,0\)
// expect: Address 0x0+\b
// expect-stdout: ^code 700 cudaErrorIllegalAddress$
#include "report.h"

__global__ void fill(int* data) {
    data[threadIdx.x] = 7;  // @fault
}

int main() {
    fill<<<1, 32>>>(nullptr);
    return report();
}
