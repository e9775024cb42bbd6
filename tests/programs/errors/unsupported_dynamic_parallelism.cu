// A kernel that launches a kernel: refused, and the message says what it is.
// nvcc: -rdc=true -lcudadevrt
// expect-exit: nonzero
// expect: [Dd]ynamic parallelism|cudaLaunchDevice|cudaGetParameterBuffer|cudaCDP
#include "report.h"

__global__ void child(int* data) { data[threadIdx.x] = 1; }

__global__ void parent(int* data) {
    if (threadIdx.x == 0) child<<<1, 32>>>(data);
}

int main() {
    int* d;
    cudaMalloc(&d, 32 * sizeof(int));
    parent<<<1, 32>>>(d);
    return report();
}
