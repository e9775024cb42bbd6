// Pointers that cudaFree did not hand out: the middle of a buffer, the stack, pinned memory of others.
// expect-exit: 4
// expect-stdout: ^cudaErrorInvalidValue cudaErrorInvalidValue cudaErrorInvalidValue$
#include "report.h"

int main() {
    char* d;
    int local = 0;
    cudaMalloc(&d, 100);
    cudaError_t middle = cudaFree(d + 16), stack = cudaFree(&local), wild = cudaFree((void*)0x1234567890ull);
    printf("%s %s %s\n", cudaGetErrorName(middle), cudaGetErrorName(stack), cudaGetErrorName(wild));
    return 4;
}
