// Freeing twice is refused by the API, with CUDA's code; the program decides what follows.
// expect-exit: 3
// expect-stdout: ^1 cudaErrorInvalidValue: invalid argument$
#include "report.h"

int main() {
    float* d;
    cudaMalloc(&d, 100);
    if (cudaFree(d) != cudaSuccess) return 1;
    cudaError_t code = cudaFree(d);
    printf("%d %s: %s\n", int(code), cudaGetErrorName(code), cudaGetErrorString(code));
    return 3;
}
