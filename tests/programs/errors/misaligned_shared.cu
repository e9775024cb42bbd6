// A double in the middle of shared bytes, at an odd multiple of four.
// expect-exit: nonzero
// expect: Misaligned __shared__ write of (size )?8\b
// expect: put\(.*misaligned_shared\.cu:@fault\b
// expect: thread \(2,0,0\) in block \(0,0,0\)
// expect-stdout: ^code 716 cudaErrorMisalignedAddress$
#include "report.h"

__global__ void put(double* out, int shift) {
    __shared__ char bytes[512];
    int at = threadIdx.x * 8 + (threadIdx.x == 2 ? shift : 0);
    *reinterpret_cast<double*>(bytes + at) = threadIdx.x;  // @fault
    __syncthreads();
    out[threadIdx.x] = bytes[threadIdx.x];
}

int main() {
    double* out;
    cudaMalloc(&out, 32 * sizeof(double));
    put<<<1, 32>>>(out, 4);
    return report();
}
