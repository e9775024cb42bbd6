// Lanes of a warp write different values to one place in one instruction: nobody knows which stays.
// args: --check race
// expect: ^========= Race on __global__ memory: two threads of a warp write 4 bytes at once, unlike values$
// expect: ^=========     at last\(int\*\) in race_global_at_once.cu:@write$
// expect: ^=========     by thread \(1,0,0\) in block \(0,0,0\)$
// expect: ^=========     with thread \(0,0,0\) in block \(0,0,0\)
// expect-stdout: ^code 719 cudaErrorLaunchFailure$
// expect-exit: nonzero
#include "report.h"

__global__ void last(int* out) {
    *out = int(threadIdx.x);  // @write
}

int main() {
    int* out;
    cudaMalloc(&out, sizeof *out);
    last<<<1, 32>>>(out);
    return report();
}
