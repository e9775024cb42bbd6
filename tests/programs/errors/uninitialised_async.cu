// A tile is used before the asynchronous copy that fills it was waited for.
// args: --check init
// expect-exit: nonzero
// expect: Uninitiali[sz]ed __shared__ read of size 4 bytes
// expect: early\(.*uninitialised_async\.cu:@fault\b
#include <cuda_pipeline.h>

#include "report.h"

__global__ void early(const int* in, int* out) {
    __shared__ int tile[32];
    __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    int v = tile[threadIdx.x];  // @fault
    __pipeline_wait_prior(0);
    for (int i = 0; i < v; i++) out[threadIdx.x] = i;
}

int main() {
    int *in, *out;
    cudaMalloc(&in, 128);
    cudaMalloc(&out, 128);
    cudaMemset(in, 0, 128);
    early<<<1, 32>>>(in, out);
    return report();
}
