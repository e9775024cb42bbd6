// A per-thread array read where it was not written; the value is an index.
// args: --check init
// expect-exit: nonzero
// expect: Uninitiali[sz]ed __local__ read of (size )?4\b
// expect: pick\(.*uninitialised_local\.cu:@fault\b
// expect: the value is used as an address in uninitialised_local\.cu:@use\b
// expect: thread \(5,0,0\) in block \(0,0,0\)
#include "report.h"

__global__ void pick(const int* index, int* out, int n) {
    int table[32];
    for (int i = 0; i < n; i++) table[index[i]] = i;
    int v = table[index[threadIdx.x]];  // @fault
    out[v] = threadIdx.x;  // @use
}

int main() {
    int h[8] = {3, 1, 4, 0, 5, 9, 2, 3}, *index, *out;
    cudaMalloc(&index, sizeof(h));
    cudaMalloc(&out, sizeof(h));
    cudaMemcpy(index, h, sizeof(h), cudaMemcpyHostToDevice);
    pick<<<1, 8>>>(index, out, 5);
    return report();
}
