// __managed__ variables: initial values, host access without a copy, kernel access, symbol queries.
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

    void* address;
    size_t bytes;
    CHECK(cudaGetSymbolAddress(&address, table));
    EXPECT(address == table);
    CHECK(cudaGetSymbolSize(&bytes, table));
    EXPECT_EQ(bytes, sizeof(table));
    float zeros[64] = {};
    CHECK(cudaMemcpyToSymbol(table, zeros, sizeof(zeros)));
    EXPECT_EQ(table[63], 0.0f);
    CHECK(cudaFree(value));
    return pass();
}
