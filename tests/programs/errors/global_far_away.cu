// An index that was computed wrongly by a wide margin, in one thread of a three-dimensional launch.
// expect-exit: nonzero
// expect: Invalid __global__ write of (size )?8\b
// expect: scatter\(.*global_far_away\.cu:@fault\b
// expect: thread \(5,3,1\) in block \(1,2,0\)
// expect: Address 0x[0-9a-f]+ .*allocation at 0x[0-9a-f]+ of (size )?4096\b
// expect-stdout: ^code 700 cudaErrorIllegalAddress$
#include "report.h"

__global__ void scatter(long long* data, long long jump) {
    long long i = threadIdx.x + 8 * (threadIdx.y + 4 * threadIdx.z);
    bool lost = threadIdx.x == 5 && threadIdx.y == 3 && threadIdx.z == 1 && blockIdx.x == 1 && blockIdx.y == 2;
    if (lost) i += jump;
    data[i] = i;  // @fault
}

int main() {
    long long* d;
    cudaMalloc(&d, 512 * sizeof(long long));
    scatter<<<dim3(2, 3), dim3(8, 4, 2)>>>(d, 1ll << 34);
    return report();
}
