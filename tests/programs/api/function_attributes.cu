// cudaFuncGetAttributes and cudaFuncSet*; more than 48 KiB of dynamic shared memory after opting in.
#include "check.h"

__global__ void __launch_bounds__(256) bounded(int* out) { out[threadIdx.x] = threadIdx.x; }

__constant__ int constants[100];

__global__ void with_static(int* out) {
    __shared__ double tile[300];
    tile[threadIdx.x] = constants[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = int(tile[threadIdx.x ^ 1]);
}

__global__ void with_local(int* out, int n) {
    int scratch[100];
    for (int i = 0; i < 100; i++) scratch[(i * 7 + n) % 100] = i;
    int sum = 0;
    for (int i = 0; i < n; i++) sum += scratch[(sum + i) % 100];
    out[threadIdx.x] = sum;
}

__global__ void reverse(int* data, int n) {
    extern __shared__ int big[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) big[i] = data[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = big[n - 1 - i];
}

template <typename T>
__global__ void templated(T* out) {
    __shared__ T one;
    if (threadIdx.x == 0) one = out[0];
    __syncthreads();
    out[threadIdx.x] = one;
}

int main() {
    cudaFuncAttributes a;
    CHECK(cudaFuncGetAttributes(&a, bounded));
    EXPECT_EQ(a.maxThreadsPerBlock, 256);
    EXPECT_EQ(a.sharedSizeBytes, 0u);
    EXPECT(a.numRegs > 0 && a.numRegs <= 255);
    EXPECT(a.ptxVersion >= 50);
    EXPECT(a.binaryVersion >= 50);
    CHECK(cudaFuncGetAttributes(&a, with_static));
    EXPECT_EQ(a.sharedSizeBytes, 2400u);
    EXPECT_EQ(a.maxThreadsPerBlock, 1024);
    CHECK(cudaFuncGetAttributes(&a, with_local));
    EXPECT(a.localSizeBytes >= 400);
    CHECK(cudaFuncGetAttributes(&a, templated<double>));
    EXPECT_EQ(a.sharedSizeBytes, 8u);
    CHECK(cudaFuncGetAttributes(&a, (const void*)templated<short>));
    EXPECT_EQ(a.sharedSizeBytes, 2u);

    // Opt in to all the shared memory that a block may have.
    int most = 0;
    CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    EXPECT(most > 48 << 10);
    CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
    CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
    CHECK(cudaFuncGetAttributes(&a, reverse));
    EXPECT_EQ(a.maxDynamicSharedSizeBytes, most);
    EXPECT_ERROR(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, most + 1),
                 cudaErrorInvalidValue);
    CHECK(cudaFuncSetCacheConfig(reverse, cudaFuncCachePreferShared));
    CHECK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));

    const int n = most / sizeof(int);
    std::vector<int> h(n);
    for (int i = 0; i < n; i++) h[i] = 2 * i + 1;
    int* d;
    CHECK(cudaMalloc(&d, n * sizeof(int)));
    CHECK(cudaMemcpy(d, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    reverse<<<1, 256, most>>>(d, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(h.data(), d, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) EXPECT_EQ(h[i], 2 * (n - 1 - i) + 1);
    CHECK(cudaFree(d));
    return pass();
}
