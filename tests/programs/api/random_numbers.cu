// cuRAND's generators for device code; their header may come from NVIDIA's wheel.
#include "check.h"

#include <curand_kernel.h>

__global__ void count_inside(int* hits) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x, inside = 0;
    curandStatePhilox4_32_10_t counted;
    curandState shifted;
    curand_init(7, thread, 0, &counted);
    curand_init(7, thread, 0, &shifted);
    for (int k = 0; k < 16; k++) {
        float4 p = curand_uniform4(&counted);
        float x = curand_uniform(&shifted), y = curand_uniform(&shifted);
        inside += (p.x * p.x + p.y * p.y < 1) + (p.z * p.z + p.w * p.w < 1) + (x * x + y * y < 1);
    }
    atomicAdd(hits, inside);
}

int main() {
    int *device, hits = 0;
    CHECK(cudaMalloc(&device, sizeof(int)));
    CHECK(cudaMemset(device, 0, sizeof(int)));
    count_inside<<<8, 128>>>(device);
    CHECK(cudaMemcpy(&hits, device, sizeof(int), cudaMemcpyDeviceToHost));
    double pi = 4.0 * hits / (8 * 128 * 48);
    EXPECT_EQ(pi > 3.12 && pi < 3.17, true);
    return 0;
}
