// A full-warp shuffle that only half of the warp executes.
// expect-exit: nonzero
// expect: Missing members
// expect: shfl
// expect: broadcast\(.*shuffle_missing_members\.cu:@fault\b
// expect: thread \(\d+,0,0\).*block \(0,0,0\)
#include "report.h"

__global__ void broadcast(int* data) {
    int t = threadIdx.x, v = data[t];
    if (t < 16) {
        v = __shfl_sync(0xffffffffu, v, 0);  // @fault
    }
    __syncwarp();
    data[t] = v;
}

int main() {
    int* d;
    cudaMalloc(&d, 32 * sizeof(int));
    cudaMemset(d, 0, 32 * sizeof(int));
    broadcast<<<1, 32>>>(d);
    return report();
}
