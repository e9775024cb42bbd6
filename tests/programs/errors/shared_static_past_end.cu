// A read behind a static shared array, by an index known only at run time.
// expect-exit: nonzero
// expect: Invalid __shared__ read of (size )?4\b
// expect: lookup\(.*shared_static_past_end\.cu:@fault\b
// expect: thread \(3,0,0\) in block \(0,0,0\)
// expect: of (size )?128\b
// expect-stdout: ^code (700|719) 
#include "report.h"

__global__ void lookup(const int* index, float* out) {
    __shared__ float tile[32];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    float v = tile[index[threadIdx.x]];  // @fault
    out[threadIdx.x] = v;
}

int main() {
    int h[32], *index;
    float* out;
    for (int i = 0; i < 32; i++) h[i] = i == 3 ? 40 : i;
    cudaMalloc(&index, sizeof(h));
    cudaMalloc(&out, 32 * sizeof(float));
    cudaMemcpy(index, h, sizeof(h), cudaMemcpyHostToDevice);
    lookup<<<1, 32>>>(index, out);
    return report();
}
