// Constant memory is read-only on the device, whatever the pointer was cast to.
// expect-exit: nonzero
// expect: Write to constant memory|Invalid __const(ant)?__ write
// expect: change\(.*constant_write\.cu:@fault\b
// expect: thread \(0,0,0\) in block \(0,0,0\)
#include "report.h"

__constant__ float table[16];

__global__ void change(float* out, int i) {
    float* p = const_cast<float*>(&table[i]);
    asm volatile("" : "+l"(p));  // or the compiler sees it and complains
    *p = 3.0f;  // @fault
    out[0] = table[i + 1];
}

int main() {
    float* out;
    cudaMalloc(&out, sizeof(float));
    change<<<1, 1>>>(out, 2);
    return report();
}
