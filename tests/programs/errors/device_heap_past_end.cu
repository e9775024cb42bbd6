// Memory from malloc() in a kernel has bounds as well.
// expect-exit: nonzero
// expect: Invalid __global__ write of (size )?4\b
// expect: grow\(.*device_heap_past_end\.cu:@fault\b
// expect: thread \(0,0,0\) in block \(0,0,0\)
// expect: allocation at 0x[0-9a-f]+ of (size )?40\b
// expect-stdout: ^code 700 cudaErrorIllegalAddress$
#include "report.h"

__global__ void grow(int* out, int n) {
    int* list = static_cast<int*>(malloc(10 * sizeof(int)));
    for (int i = 0; i <= n; i++) list[i] = i;  // @fault
    out[0] = list[n / 2];
    free(list);
}

int main() {
    int* out;
    cudaMalloc(&out, 4);
    grow<<<1, 1>>>(out, 10);
    return report();
}
