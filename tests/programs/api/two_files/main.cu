// Two translation units, each with its own device code; kernels and variables of equal name in both.
#include "../check.h"
#include "scale.h"

static __constant__ float factor_value = 100;
static __device__ int counter = 0;

static __global__ void kernel(float* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += factor_value;
    if (i == 0) counter++;
}

int main() {
    const int n = 50;
    float* data;
    CHECK(cudaMallocManaged(&data, n * sizeof(float)));
    for (int i = 0; i < n; i++) data[i] = float(i);
    kernel<<<2, 32>>>(data, n);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++) EXPECT_EQ(data[i], i + 100.0f);
    scale_on_device(data, n, 3);
    scale_on_device(data, n, 2);
    CHECK(cudaDeviceSynchronize());
    EXPECT_EQ(data[0], -1.0f);
    for (int i = 1; i < n; i++) EXPECT_EQ(data[i], (i + 100.0f) * 6);
    int value;
    CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof(value)));
    EXPECT_EQ(value, 1);
    EXPECT_EQ(count_on_device(), 1002);
    shared_template<<<1, 32>>>(data, 7.0f);
    CHECK(cudaDeviceSynchronize());
    EXPECT_EQ(data[31], 38.0f);
    CHECK(cudaFree(data));
    return pass();
}
