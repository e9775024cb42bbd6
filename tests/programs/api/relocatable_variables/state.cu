#include "state.h"

#include "../check.h"

__device__ int counter = 5;
__constant__ float weights[4] = {1, 10, 100, 1000};
__device__ float* shared_buffer;

static __global__ void bump() { counter += 10; }

void count_from_other_file() {
    bump<<<1, 1>>>();
    CHECK(cudaGetLastError());
}

int read_counter() {
    int value;
    CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof(value)));
    return value;
}
