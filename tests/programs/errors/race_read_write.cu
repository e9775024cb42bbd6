// Two warps exchange values through shared memory without a barrier.
// args: --check race
// expect-exit: nonzero
// expect: Race on __shared__ memory
// expect: swap_halves\(.*race_read_write\.cu:(@first|@second)\b
// expect: race_read_write\.cu:@first\b
// expect: race_read_write\.cu:@second\b
// expect: block \(0,0,0\)
#include "report.h"

__global__ void swap_halves(int* data) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = data[t];           // @first
    int v = tile[(t + 32) % 64];  // @second
    data[t] = v;
}

int main() {
    int* d;
    cudaMalloc(&d, 64 * sizeof(int));
    cudaMemset(d, 0, 64 * sizeof(int));
    swap_halves<<<1, 64>>>(d);
    return report();
}
