// __trap() ends the kernel.
// expect-exit: nonzero
// expect: Trap
// expect: stop\(.*trap\.cu:@fault\b
// expect: thread \(0,7,0\) in block \(0,1,0\)
// expect-stdout: ^code (715|719) 
#include "report.h"

__global__ void stop(const int* data) {
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (data[i] == 15) __trap();  // @fault
}

int main() {
    int h[16], *d;
    for (int i = 0; i < 16; i++) h[i] = i;
    cudaMalloc(&d, sizeof(h));
    cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
    stop<<<dim3(1, 2), dim3(1, 8)>>>(d);
    return report();
}
