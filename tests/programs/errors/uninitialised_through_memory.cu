// What nobody wrote goes through arithmetic, shared memory and a shuffle before it decides a branch.
// args: --check init
// expect-exit: nonzero
// expect: Uninitiali[sz]ed __shared__ read of size 4 bytes
// expect: exchange\(.*uninitialised_through_memory\.cu:@fault\b
// expect: the value decides a branch in uninitialised_through_memory\.cu:@use\b
#include "report.h"

__global__ void exchange(const float* in, float* out) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = 2 * in[t] + 1;  // only the first half of `in` was written
    __syncthreads();
    float v = tile[63 - t];  // @fault
    v += __shfl_xor_sync(~0u, v, 1);
    while (v > 8) v = v / 2 + float(out[t] > 0);  // @use
    out[t] = v;
}

int main() {
    float *in, *out;
    cudaMalloc(&in, 64 * sizeof(float));
    cudaMalloc(&out, 64 * sizeof(float));
    cudaMemset(in, 0, 32 * sizeof(float));
    cudaMemset(out, 0, 64 * sizeof(float));
    exchange<<<1, 64>>>(in, out);
    return report();
}
