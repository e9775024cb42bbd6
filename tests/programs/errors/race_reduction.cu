// A tree reduction whose steps are not separated by __syncthreads().
// args: --check race
// expect-exit: nonzero
// expect: Race on __shared__ memory
// expect: reduce\(.*race_reduction\.cu:(@load|@fault)\b
// expect: block \(0,0,0\)
#include "report.h"

__global__ void reduce(const float* in, float* out) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    tile[t] = in[blockIdx.x * 128 + t];  // @load
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if (t < step) tile[t] += tile[t + step];  // @fault
    }
    __syncthreads();
    if (t == 0) out[blockIdx.x] = tile[0];
}

int main() {
    float *in, *out;
    cudaMalloc(&in, 128 * sizeof(float));
    cudaMalloc(&out, sizeof(float));
    cudaMemset(in, 0, 128 * sizeof(float));
    reduce<<<1, 128>>>(in, out);
    return report();
}
