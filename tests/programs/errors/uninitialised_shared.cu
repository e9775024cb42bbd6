// An accumulator in shared memory that nobody set to zero.
// args: --check init
// expect-exit: nonzero
// expect: Uninitiali[sz]ed __shared__ read of (size )?4\b
// expect: histogram\(.*uninitialised_shared\.cu:@fault\b
// expect: the value decides a branch in uninitialised_shared\.cu
// expect: thread \(\d+,0,0\) in block \(0,0,0\)
#include "report.h"

__global__ void histogram(const int* in, int* out) {
    __shared__ int bins[32];
    if (threadIdx.x < 16) bins[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    int v = bins[(threadIdx.x + 1) % 32];  // @fault
    for (int i = 0; i < v; i++) out[threadIdx.x] = i;
}

int main() {
    int *in, *out;
    cudaMalloc(&in, 128);
    cudaMalloc(&out, 128);
    cudaMemset(in, 0, 128);
    histogram<<<1, 32>>>(in, out);
    return report();
}
