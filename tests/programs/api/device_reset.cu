// cudaDeviceReset gives everything back; afterwards the device starts afresh, with initial values.
#include "check.h"

__device__ int counter = 10;

__global__ void bump(int* out) { *out = ++counter; }

static int run() {
    int *d, h = -1;
    CHECK(cudaMalloc(&d, sizeof(int)));
    bump<<<1, 1>>>(d);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&h, d, sizeof(int), cudaMemcpyDeviceToHost));
    return h;  // the memory is left to cudaDeviceReset
}

int main() {
    EXPECT_EQ(run(), 11);
    EXPECT_EQ(run(), 12);
    size_t before, after, total;
    void* big;
    CHECK(cudaMalloc(&big, 64 << 20));
    CHECK(cudaMemGetInfo(&before, &total));
    CHECK(cudaDeviceReset());
    CHECK(cudaMemGetInfo(&after, &total));
    EXPECT(after >= before + (64u << 20));
    EXPECT_EQ(run(), 11);
    CHECK(cudaDeviceReset());
    CHECK(cudaDeviceReset());
    CHECK(cudaInitDevice(0, 0, 0));
    CHECK(cudaFree(0));
    return pass();
}
