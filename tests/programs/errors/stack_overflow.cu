// Recursion without an end.
// expect-exit: nonzero
// expect: Stack overflow
// expect: start\(
// expect: stack_overflow\.cu:(@fault|@begin|@call)\b
// expect: thread \(\d+,0,0\).*block \(0,0,0\)
// expect-stdout: ^code (700|714|719) 
#include "report.h"

__device__ __noinline__ int deeper(int* data, int depth) {  // @begin
    int scratch[8];
    scratch[depth & 7] = data[depth & 15];
    int below = deeper(data, depth + scratch[depth & 7] + 1);  // @fault
    return below + scratch[(depth + below) & 7];
}

__global__ void start(int* data) {
    data[threadIdx.x] = deeper(data, 0);  // @call
}

int main() {
    int* d;
    cudaMalloc(&d, 32 * sizeof(int));
    cudaMemset(d, 0, 32 * sizeof(int));
    start<<<1, 32>>>(d);
    return report();
}
