// Stream-ordered allocation: the default pool, cudaMallocAsync/cudaFreeAsync, a pool of one's own.
#include "check.h"

__global__ void fill(int* data, int n, int value) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = value + i;
}

int main() {
    int supported = 0;
    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
    EXPECT_EQ(supported, 1);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    unsigned long long threshold = ~0ull;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    unsigned long long read = 0;
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &read));
    EXPECT(read == threshold);

    const int n = 2000;
    std::vector<int> out(n);
    for (int round = 0; round < 5; round++) {
        int *a, *b;
        CHECK(cudaMallocAsync(&a, n * sizeof(int), stream));
        CHECK(cudaMallocAsync((void**)&b, n * sizeof(int), stream));
        EXPECT(a != b);
        fill<<<1, 256, 0, stream>>>(a, n, round * 100);
        CHECK(cudaMemcpyAsync(b, a, n * sizeof(int), cudaMemcpyDeviceToDevice, stream));
        CHECK(cudaFreeAsync(a, stream));
        CHECK(cudaMemcpyAsync(out.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaFreeAsync(b, stream));
        CHECK(cudaStreamSynchronize(stream));
        for (int i = 0; i < n; i++) EXPECT_EQ(out[i], round * 100 + i);
    }
    CHECK(cudaMemPoolTrimTo(pool, 0));

    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = 0;
    cudaMemPool_t own;
    CHECK(cudaMemPoolCreate(&own, &props));
    int* c;
    CHECK(cudaMallocFromPoolAsync(&c, n * sizeof(int), own, stream));
    fill<<<1, 256, 0, stream>>>(c, n, 7);
    CHECK(cudaMemcpyAsync(out.data(), c, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT_EQ(out[n - 1], 7 + n - 1);
    CHECK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &read));
    EXPECT(read >= n * sizeof(int));
    CHECK(cudaFreeAsync(c, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &read));
    EXPECT(read == 0);

    // cudaFree also takes memory from a pool; a device may be given another current pool.
    CHECK(cudaDeviceSetMemPool(0, own));
    cudaMemPool_t current;
    CHECK(cudaDeviceGetMemPool(&current, 0));
    EXPECT(current == own);
    CHECK(cudaMallocAsync(&c, 64, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFree(c));
    CHECK(cudaDeviceSetMemPool(0, pool));
    CHECK(cudaMemPoolDestroy(own));
    CHECK(cudaStreamDestroy(stream));
    return pass();
}
