// A shared address is an offset into the block's own memory: a device pointer is none.
// expect-exit: nonzero
// expect: Invalid __(shared|global)__ write of size 4 bytes
// expect: poke\(.*shared_window\.cu:@fault\b
#include "report.h"

__global__ void poke(float* out) {
    __shared__ float tile[32];
    tile[threadIdx.x] = 1;
    asm volatile("st.shared.f32 [%0], %1;" ::"l"(out + threadIdx.x), "f"(tile[threadIdx.x]) : "memory");  // @fault
}

int main() {
    float* out;
    cudaMalloc(&out, 128);
    poke<<<1, 32>>>(out);
    return report();
}
