// CUDA calls before main (in constructors of globals) and after it (in their destructors), atexit.
#include "check.h"

__device__ int seed = 40;
__global__ void add_seed(int* value) { *value += seed; }

struct Buffer {
    int* d = nullptr;
    Buffer() {
        CHECK(cudaMalloc(&d, sizeof(int)));
        CHECK(cudaMemset(d, 0, sizeof(int)));
    }
    ~Buffer() { cudaFree(d); }  // may run when the runtime is already unloading
};

static Buffer early;

int main() {
    add_seed<<<1, 1>>>(early.d);
    CHECK(cudaGetLastError());
    int h = -1;
    CHECK(cudaMemcpy(&h, early.d, sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT_EQ(h, 40);
    static Buffer late;
    atexit([] { cudaDeviceSynchronize(); });
    add_seed<<<1, 1>>>(late.d);
    add_seed<<<1, 1>>>(late.d);
    CHECK(cudaMemcpy(&h, late.d, sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT_EQ(h, 80);
    return pass();
}
