// Shared by the error programs: print the code that the API gives after the faulty launch, so that the
// test can read it, and hand it to the caller.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>

inline int report() {
    cudaError_t code = cudaDeviceSynchronize();
    printf("code %d %s\n", int(code), cudaGetErrorName(code));
    fflush(stdout);
    return code != cudaSuccess;
}
