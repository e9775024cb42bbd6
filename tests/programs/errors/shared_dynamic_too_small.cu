// Dynamic shared memory for 64 floats, used by 65 threads.
// expect-exit: nonzero
// expect: Invalid __shared__ write of (size )?4\b
// expect: stage\(.*shared_dynamic_too_small\.cu:@fault\b
// expect: thread \(64,0,0\) in block \([01],0,0\)
// expect: Address 0x[0-9a-f]+
// expect: of (size )?256\b
// expect-stdout: ^code (700|719) 
#include "report.h"

__global__ void stage(float* data) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = data[threadIdx.x];  // @fault
    __syncthreads();
    data[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

int main() {
    float* d;
    cudaMalloc(&d, 128 * sizeof(float));
    stage<<<2, 65, 64 * sizeof(float)>>>(d);
    return report();
}
