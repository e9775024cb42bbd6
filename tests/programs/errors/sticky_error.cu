// After a fault every call returns the same error; the program looks away and returns 0, and yet the
// run as a whole has failed.
// expect-exit: nonzero
// expect: Invalid __global__ write of (size )?4\b
// expect: broken\(.*sticky_error\.cu:@fault\b
// expect: thread \(31,0,0\) in block \(0,0,0\)
// expect: allocation at 0x[0-9a-f]+ of (size )?124\b
// expect-stdout: ^launch 0$
// expect-stdout: ^700 700 700 700 700 700 700 700$
// expect-stdout: ^done$
#include "report.h"

__global__ void broken(int* data) {
    data[threadIdx.x] = 1;  // @fault
}
__global__ void fine(int* data) { data[0] = 2; }

int main() {
    int *d, *more, h = 5;
    cudaStream_t stream;
    cudaMalloc(&d, 31 * sizeof(int));
    broken<<<1, 32>>>(d);
    printf("launch %d\n", int(cudaPeekAtLastError()));
    int codes[8];
    codes[0] = cudaDeviceSynchronize();
    codes[1] = cudaGetLastError();
    codes[2] = cudaGetLastError();
    codes[3] = cudaMalloc(&more, 4);
    codes[4] = cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost);
    fine<<<1, 1>>>(d);
    codes[5] = cudaPeekAtLastError();
    codes[6] = cudaStreamCreate(&stream);
    codes[7] = cudaFree(d);
    for (int i = 0; i < 8; i++) printf("%d%c", codes[i], i < 7 ? ' ' : '\n');
    printf("done\n");
    return 0;
}
