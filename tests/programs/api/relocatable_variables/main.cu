// Separate compilation: extern __device__ and __constant__ variables are one object in both files.
// nvcc: -rdc=true
#include "../check.h"
#include "state.h"

static __global__ void bump() { counter++; }
__global__ void weigh() { shared_buffer[threadIdx.x] = weights[threadIdx.x] * counter; }

int main() {
    bump<<<1, 1>>>();
    EXPECT_EQ(read_counter(), 6);
    count_from_other_file();
    EXPECT_EQ(read_counter(), 16);
    int value;
    CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof(value)));
    EXPECT_EQ(value, 16);
    value = 2;
    CHECK(cudaMemcpyToSymbol(counter, &value, sizeof(value)));
    float* d;
    CHECK(cudaMalloc(&d, 4 * sizeof(float)));
    CHECK(cudaMemcpyToSymbol(shared_buffer, &d, sizeof(d)));
    float w = 50;
    CHECK(cudaMemcpyToSymbol(weights, &w, sizeof(w), sizeof(float)));
    weigh<<<1, 4>>>();
    float h[4], wanted[4] = {2, 100, 200, 2000};
    CHECK(cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 4; i++) EXPECT_EQ(h[i], wanted[i]);
    CHECK(cudaFree(d));
    return pass();
}
