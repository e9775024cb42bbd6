// A failing assert() in a kernel prints CUDA's own line.
// expect-exit: nonzero
// expect: device_assert\.cu:@fault\b.*check\(.*block: \[1,0,0\], thread: \[5,0,0\] Assertion `data\[i\] >= 0` failed
// expect-stdout: ^code 710 cudaErrorAssert$
#include <cassert>

#include "report.h"

__global__ void check(const int* data) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(data[i] >= 0);  // @fault
}

int main() {
    int h[64], *d;
    for (int i = 0; i < 64; i++) h[i] = i == 37 ? -1 : i;
    cudaMalloc(&d, sizeof(h));
    cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
    check<<<2, 32>>>(d);
    return report();
}
