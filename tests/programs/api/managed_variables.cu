// __managed__ variables: initial values, host access without a copy, kernel access, pointer queries.
#include "check.h"

__managed__ int counter = 42;
__managed__ float table[64];
__device__ __managed__ int* shared_pointer;

__global__ void work() {
    atomicAdd(&counter, 1);
    if (blockIdx.x == 0) table[threadIdx.x] *= 2;
    if (blockIdx.x == 0 && threadIdx.x == 0 && shared_pointer) *shared_pointer += 5;
}

int main() {
    EXPECT_EQ(counter, 42);
    for (int i = 0; i < 64; i++) table[i] = i + 0.5f;
    int* value;
    CHECK(cudaMallocManaged(&value, sizeof(int)));
    *value = 10;
    shared_pointer = value;
    work<<<3, 64>>>();
    CHECK(cudaDeviceSynchronize());
    EXPECT_EQ(counter, 42 + 3 * 64);
    for (int i = 0; i < 64; i++) EXPECT_EQ(table[i], 2 * (i + 0.5f));
    EXPECT_EQ(*value, 15);
    counter = 0;
    work<<<1, 64>>>();
    CHECK(cudaDeviceSynchronize());
    EXPECT_EQ(counter, 64);

    // Its address is an ordinary managed pointer.
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, table));
    EXPECT_EQ(int(attributes.type), int(cudaMemoryTypeManaged));
    CHECK(cudaMemset(table, 0, sizeof(table)));
    CHECK(cudaDeviceSynchronize());
    EXPECT_EQ(table[63], 0.0f);
    CHECK(cudaFree(value));
    return pass();
}
