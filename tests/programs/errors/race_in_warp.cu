// Neighbouring lanes exchange values through shared memory without __syncwarp().
// args: --check race
// expect-exit: nonzero
// expect: Race on __shared__ memory
// expect: neighbours\(.*race_in_warp\.cu:(@first|@second)\b
// expect: race_in_warp\.cu:@first\b
// expect: race_in_warp\.cu:@second\b
// expect: block \(0,0,0\)
#include "report.h"

__global__ void neighbours(int* data) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = data[t];    // @first
    int v = tile[t ^ 1];  // @second
    data[t] = v;
}

int main() {
    int* d;
    cudaMalloc(&d, 32 * sizeof(int));
    cudaMemset(d, 0, 32 * sizeof(int));
    neighbours<<<1, 32>>>(d);
    return report();
}
