// Half of a warp waits at a barrier, the other half in a shuffle for the first half.
// expect-exit: nonzero
// expect: Barrier not reached|Deadlock|Missing members
// expect: torn\(.*barrier_and_shuffle\.cu:(@barrier|@shuffle)\b
// expect: thread \(\d+,0,0\).*block \(0,0,0\)
#include "report.h"

__global__ void torn(int* data) {
    int t = threadIdx.x, v = data[t];
    if (t < 16) {
        __syncthreads();  // @barrier
        v += 1;
    } else {
        v = __shfl_sync(0xffffffffu, v, 0);  // @shuffle
    }
    __syncthreads();
    data[t] = v;
}

int main() {
    int* d;
    cudaMalloc(&d, 32 * sizeof(int));
    cudaMemset(d, 0, 32 * sizeof(int));
    torn<<<1, 32>>>(d);
    return report();
}
