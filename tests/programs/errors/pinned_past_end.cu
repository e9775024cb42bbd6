// Mapped host memory is checked like device memory.
// expect-exit: nonzero
// expect: Invalid __global__ write of (size )?1\b
// expect: mark\(.*pinned_past_end\.cu:@fault\b
// expect: thread \(100,0,0\) in block \(0,0,0\)
// expect: is 0 bytes (after|past).*allocation at 0x[0-9a-f]+ of (size )?100\b
// expect-stdout: ^code 700 cudaErrorIllegalAddress$
#include "report.h"

__global__ void mark(char* data, int n) {
    if (threadIdx.x <= n) data[threadIdx.x] = 1;  // @fault
}

int main() {
    char* host;
    cudaMallocHost(&host, 100);
    mark<<<1, 128>>>(host, 100);
    return report();
}
