// Has a kernel, a constant and a counter of the same names as main.cu: they must not be mixed up.
#include "../check.h"
#include "scale.h"

static __constant__ float factor_value = 1;
static __device__ int counter = 1000;

static __global__ void kernel(float* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= factor_value;
    if (i == 0) counter++;
}

void scale_on_device(float* data, int n, float factor) {
    CHECK(cudaMemcpyToSymbol(factor_value, &factor, sizeof(factor)));
    kernel<<<(n + 31) / 32, 32>>>(data, n);
    CHECK(cudaGetLastError());
    shared_template<<<1, 1>>>(data, -1.0f);
}

int count_on_device() {
    int value;
    CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof(value)));
    return value;
}
