// API calls with bad arguments return CUDA's codes, are remembered as the last error, do no harm.
#include "check.h"

__global__ void nothing() {}

int main() {
    void* p = nullptr;
    EXPECT_ERROR(cudaMalloc(&p, size_t(1) << 50), cudaErrorMemoryAllocation);
    EXPECT(p == nullptr);
    EXPECT_ERROR(cudaMalloc((void**)nullptr, 16), cudaErrorInvalidValue);
    CHECK(cudaMalloc(&p, 0));
    CHECK(cudaFree(p));

    // The last error stays until it is read.
    EXPECT_EQ(int(cudaMalloc(&p, size_t(1) << 50)), int(cudaErrorMemoryAllocation));
    EXPECT_EQ(int(cudaPeekAtLastError()), int(cudaErrorMemoryAllocation));
    CHECK(cudaDeviceSynchronize());
    EXPECT_EQ(int(cudaGetLastError()), int(cudaErrorMemoryAllocation));
    EXPECT_EQ(int(cudaGetLastError()), int(cudaSuccess));

    int host = 3;
    int* d;
    CHECK(cudaMalloc(&d, 100 * sizeof(int)));
    EXPECT_ERROR(cudaMemcpy(d, &host, 4, cudaMemcpyKind(17)), cudaErrorInvalidMemcpyDirection);
    EXPECT_ERROR(cudaMemcpy(nullptr, &host, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemset(nullptr, 0, 4), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaFree(&host), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaFree(d + 1), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaFreeHost(&host), cudaErrorInvalidValue);
    // Beyond the end of an allocation.
    EXPECT_ERROR(cudaMemcpy(d + 99, d, 99 * sizeof(int) + 1000000, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);

    cudaEvent_t event = nullptr;
    EXPECT_ERROR(cudaEventRecord(event), cudaErrorInvalidResourceHandle);
    EXPECT_ERROR(cudaEventSynchronize(event), cudaErrorInvalidResourceHandle);
    EXPECT_ERROR(cudaEventDestroy(event), cudaErrorInvalidResourceHandle);
    EXPECT_ERROR(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
    EXPECT_ERROR(cudaLaunchKernel((const void*)&host, dim3(1), dim3(1), nullptr, 0, nullptr),
                 cudaErrorInvalidDeviceFunction);
    cudaFuncAttributes attributes;
    EXPECT_ERROR(cudaFuncGetAttributes(&attributes, (const void*)&host), cudaErrorInvalidDeviceFunction);
    int blocks;
    EXPECT_ERROR(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 0, 0), cudaErrorInvalidValue);

    // After all that the device still works.
    nothing<<<1, 1>>>();
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(d));
    return pass();
}
