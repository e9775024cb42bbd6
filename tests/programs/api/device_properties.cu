// Device properties and attributes agree with each other and make sense.
#include "check.h"

static int attribute(cudaDeviceAttr which) {
    int value = -12345;
    CHECK(cudaDeviceGetAttribute(&value, which, 0));
    return value;
}

int main() {
    int count = 0, device = -1;
    CHECK(cudaGetDeviceCount(&count));
    EXPECT(count >= 1);
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDevice(&device));
    EXPECT_EQ(device, 0);
    cudaDeviceProp p;
    memset(&p, 0x5a, sizeof(p));
    CHECK(cudaGetDeviceProperties(&p, 0));
    EXPECT(strlen(p.name) > 0 && strlen(p.name) < 256);
    EXPECT_EQ(p.warpSize, 32);
    EXPECT_EQ(p.maxThreadsPerBlock, 1024);
    EXPECT_EQ(p.maxThreadsDim[0], 1024);
    EXPECT_EQ(p.maxThreadsDim[1], 1024);
    EXPECT_EQ(p.maxThreadsDim[2], 64);
    EXPECT_EQ(p.maxGridSize[0], 2147483647);
    EXPECT_EQ(p.maxGridSize[1], 65535);
    EXPECT_EQ(p.maxGridSize[2], 65535);
    EXPECT_EQ(p.sharedMemPerBlock, 49152u);
    EXPECT_EQ(p.totalConstMem, 65536u);
    EXPECT_EQ(p.regsPerBlock, 65536);
    EXPECT(p.major >= 7 && p.minor >= 0 && p.minor <= 9);
    EXPECT(p.multiProcessorCount > 0);
    EXPECT(p.totalGlobalMem > (size_t(1) << 30));
    EXPECT(p.sharedMemPerBlockOptin >= p.sharedMemPerBlock);
    EXPECT(p.sharedMemPerMultiprocessor >= p.sharedMemPerBlockOptin);
    EXPECT(p.maxThreadsPerMultiProcessor >= 1024 && p.maxThreadsPerMultiProcessor % 32 == 0);
    EXPECT(p.maxBlocksPerMultiProcessor >= 16);
    EXPECT(p.l2CacheSize > 0 && p.memoryBusWidth > 0);
    EXPECT_EQ(p.unifiedAddressing, 1);
    EXPECT_EQ(p.canMapHostMemory, 1);
    EXPECT_EQ(p.managedMemory, 1);
    EXPECT_EQ(p.cooperativeLaunch, 1);
    EXPECT_EQ(p.concurrentKernels, 1);
    EXPECT(p.textureAlignment >= 32);

    EXPECT_EQ(attribute(cudaDevAttrMaxThreadsPerBlock), p.maxThreadsPerBlock);
    EXPECT_EQ(attribute(cudaDevAttrMaxBlockDimX), p.maxThreadsDim[0]);
    EXPECT_EQ(attribute(cudaDevAttrMaxBlockDimY), p.maxThreadsDim[1]);
    EXPECT_EQ(attribute(cudaDevAttrMaxBlockDimZ), p.maxThreadsDim[2]);
    EXPECT_EQ(attribute(cudaDevAttrMaxGridDimX), p.maxGridSize[0]);
    EXPECT_EQ(attribute(cudaDevAttrMaxGridDimZ), p.maxGridSize[2]);
    EXPECT_EQ(attribute(cudaDevAttrMaxSharedMemoryPerBlock), int(p.sharedMemPerBlock));
    EXPECT_EQ(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), int(p.sharedMemPerBlockOptin));
    EXPECT_EQ(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor), int(p.sharedMemPerMultiprocessor));
    EXPECT_EQ(attribute(cudaDevAttrTotalConstantMemory), int(p.totalConstMem));
    EXPECT_EQ(attribute(cudaDevAttrWarpSize), 32);
    EXPECT_EQ(attribute(cudaDevAttrMultiProcessorCount), p.multiProcessorCount);
    EXPECT_EQ(attribute(cudaDevAttrMaxThreadsPerMultiProcessor), p.maxThreadsPerMultiProcessor);
    EXPECT_EQ(attribute(cudaDevAttrMaxBlocksPerMultiprocessor), p.maxBlocksPerMultiProcessor);
    EXPECT_EQ(attribute(cudaDevAttrMaxRegistersPerBlock), p.regsPerBlock);
    EXPECT_EQ(attribute(cudaDevAttrMaxRegistersPerMultiprocessor), p.regsPerMultiprocessor);
    EXPECT_EQ(attribute(cudaDevAttrComputeCapabilityMajor), p.major);
    EXPECT_EQ(attribute(cudaDevAttrComputeCapabilityMinor), p.minor);
    EXPECT_EQ(attribute(cudaDevAttrL2CacheSize), p.l2CacheSize);
    EXPECT_EQ(attribute(cudaDevAttrGlobalMemoryBusWidth), p.memoryBusWidth);
    EXPECT_EQ(attribute(cudaDevAttrCooperativeLaunch), 1);
    EXPECT_EQ(attribute(cudaDevAttrUnifiedAddressing), 1);
    EXPECT_EQ(attribute(cudaDevAttrManagedMemory), 1);
    EXPECT_EQ(attribute(cudaDevAttrConcurrentManagedAccess), p.concurrentManagedAccess);
    EXPECT(attribute(cudaDevAttrClockRate) > 100000);        // kHz
    EXPECT(attribute(cudaDevAttrMemoryClockRate) > 100000);  // kHz
    EXPECT_EQ(attribute(cudaDevAttrComputeMode), 0);
    EXPECT_EQ(attribute(cudaDevAttrIntegrated), 0);

    char bus[32] = {};
    CHECK(cudaDeviceGetPCIBusId(bus, sizeof(bus), 0));
    EXPECT(strlen(bus) >= 12);
    int found = -1;
    CHECK(cudaDeviceGetByPCIBusId(&found, bus));
    EXPECT_EQ(found, 0);
    int best = -1;
    CHECK(cudaChooseDevice(&best, &p));
    EXPECT_EQ(best, 0);

    EXPECT_ERROR(cudaSetDevice(count), cudaErrorInvalidDevice);
    EXPECT_ERROR(cudaSetDevice(-1), cudaErrorInvalidDevice);
    EXPECT_ERROR(cudaGetDeviceProperties(&p, 1000), cudaErrorInvalidDevice);
    int value;
    EXPECT_ERROR(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 1000), cudaErrorInvalidDevice);
    EXPECT_ERROR(cudaDeviceGetAttribute(&value, cudaDeviceAttr(99999), 0), cudaErrorInvalidValue);
    return pass();
}
