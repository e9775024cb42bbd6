// Only the first sixteen threads come to the barrier; the others go around it and carry on.
// expect-exit: nonzero
// expect: Barrier not reached by all threads
// expect: half\(.*barrier_divergent\.cu:@fault\b
// expect: thread \(\d+,0,0\).*block \(0,0,0\)
#include "report.h"

__global__ void half(int* data) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = data[t];
    if (t < 16) __syncthreads();  // @fault
    data[t] = tile[63 - t];
}

int main() {
    int* d;
    cudaMalloc(&d, 64 * sizeof(int));
    cudaMemset(d, 0, 64 * sizeof(int));
    half<<<1, 64>>>(d);
    return report();
}
