// Free and total memory, device limits, driver and runtime versions.
#include "check.h"

int main() {
    size_t free_before, free_with, free_after, total, total_again;
    CHECK(cudaMemGetInfo(&free_before, &total));
    EXPECT(free_before > 0 && free_before <= total);
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    EXPECT_EQ(total, p.totalGlobalMem);
    const size_t bytes = size_t(256) << 20;
    void* d;
    CHECK(cudaMalloc(&d, bytes));
    CHECK(cudaMemGetInfo(&free_with, &total_again));
    EXPECT_EQ(total, total_again);
    EXPECT(free_before - free_with >= bytes);
    CHECK(cudaFree(d));
    CHECK(cudaMemGetInfo(&free_after, nullptr));
    EXPECT_EQ(free_after, free_before);
    EXPECT_ERROR(cudaMalloc(&d, total + (1 << 20)), cudaErrorMemoryAllocation);

    int driver = 0, runtime = 0;
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    EXPECT_EQ(runtime, CUDART_VERSION);
    EXPECT(driver >= runtime);

    size_t value = 0;
    CHECK(cudaDeviceGetLimit(&value, cudaLimitStackSize));
    EXPECT(value >= 1024);
    CHECK(cudaDeviceGetLimit(&value, cudaLimitPrintfFifoSize));
    EXPECT(value >= 1 << 20);
    CHECK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    EXPECT(value >= 8 << 20);
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20));
    CHECK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    EXPECT(value >= 32 << 20);
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    CHECK(cudaDeviceGetLimit(&value, cudaLimitStackSize));
    EXPECT(value >= 4096);
    CHECK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 4 << 20));
    EXPECT_ERROR(cudaDeviceGetLimit(&value, cudaLimit(0x77)), cudaErrorUnsupportedLimit);
    return pass();
}
