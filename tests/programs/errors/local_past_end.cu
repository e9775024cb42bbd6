// A per-thread array of 16 ints, indexed with 20 in one thread.
// expect-exit: nonzero
// expect: Invalid __local__ write of (size )?4\b
// expect: count\(.*local_past_end\.cu:@fault\b
// expect: thread \(9,0,0\) in block \(0,0,0\)
// expect: Address 0x[0-9a-f]+
// expect: of (size )?64\b
// expect-stdout: ^code (700|719) 
#include "report.h"

__global__ void count(const int* in, int* out, int n) {
    int bins[16];
    for (int i = 0; i < 16; i++) bins[i] = 0;
    for (int i = 0; i < n; i++) {
        int b = in[threadIdx.x * n + i];
        bins[b] = i;  // @fault
    }
    int sum = 0;
    for (int i = 0; i < n; i++) sum += bins[in[threadIdx.x * n + i] & 15];
    out[threadIdx.x] = sum;
}

int main() {
    int h[32 * 4], *in, *out;
    for (int i = 0; i < 128; i++) h[i] = i == 9 * 4 + 2 ? 20 : i % 16;
    cudaMalloc(&in, sizeof(h));
    cudaMalloc(&out, 32 * sizeof(int));
    cudaMemcpy(in, h, sizeof(h), cudaMemcpyHostToDevice);
    count<<<1, 32>>>(in, out, 4);
    return report();
}
