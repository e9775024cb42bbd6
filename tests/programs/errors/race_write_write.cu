// Two warps write different values to the same words.
// args: --check race
// expect-exit: nonzero
// expect: Race on __shared__ memory.*[Ww]rite
// expect: clash\(.*race_write_write\.cu:@fault\b
// expect: thread \(\d+,0,0\).*
// expect: block \(0,0,0\)
#include "report.h"

__global__ void clash(int* out) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t % 32] = t;  // @fault
    __syncthreads();
    out[t] = tile[31 - t % 32];
}

int main() {
    int* d;
    cudaMalloc(&d, 64 * sizeof(int));
    clash<<<1, 64>>>(d);
    return report();
}
