// The message names the kernel that failed, not the one that the host waited for.
// expect-exit: nonzero
// expect: bad<int>\(int ?\*, int\).*error_of_second_kernel\.cu:@fault\b|bad.*error_of_second_kernel\.cu:@fault\b
// expect: thread \(0,0,0\) in block \(2,0,0\)
// expect: allocation at 0x[0-9a-f]+ of (size )?256\b
// expect-stdout: ^code 700 cudaErrorIllegalAddress$
#include "report.h"

__global__ void good(int* data) { data[threadIdx.x] = threadIdx.x; }

template <typename T>
__global__ void bad(T* data, int n) {
    T* mine = data + blockIdx.x * n;
    if (threadIdx.x == 0) mine[0] = T(1);  // @fault
}

int main() {
    int* d;
    cudaMalloc(&d, 64 * sizeof(int));
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    good<<<1, 64, 0, stream>>>(d);
    bad<<<3, 32, 0, stream>>>(d, 32);
    good<<<1, 64, 0, stream>>>(d);
    return report();
}
