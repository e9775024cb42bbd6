// Streams: flags, priorities, identifiers, queries, the three default streams.
#include "check.h"

__global__ void touch(int* data) { data[threadIdx.x] += 1; }

int main() {
    cudaStream_t plain, aside, urgent;
    CHECK(cudaStreamCreate(&plain));
    CHECK(cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking));
    unsigned flags = 99;
    CHECK(cudaStreamGetFlags(plain, &flags));
    EXPECT_EQ(flags, unsigned(cudaStreamDefault));
    CHECK(cudaStreamGetFlags(aside, &flags));
    EXPECT_EQ(flags, unsigned(cudaStreamNonBlocking));

    int least = -99, greatest = 99, priority = 99;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    EXPECT(greatest <= least);
    EXPECT_EQ(least, 0);
    CHECK(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest));
    CHECK(cudaStreamGetPriority(urgent, &priority));
    EXPECT_EQ(priority, greatest);
    CHECK(cudaStreamGetPriority(plain, &priority));
    EXPECT_EQ(priority, 0);

    unsigned long long first = 0, second = 0;
    CHECK(cudaStreamGetId(plain, &first));
    CHECK(cudaStreamGetId(aside, &second));
    EXPECT(first != second);

    int* d;
    CHECK(cudaMalloc(&d, 32 * sizeof(int)));
    CHECK(cudaMemset(d, 0, 32 * sizeof(int)));
    cudaStream_t all[] = {plain, aside, urgent, nullptr, cudaStreamLegacy, cudaStreamPerThread};
    for (cudaStream_t stream : all) {
        touch<<<1, 32, 0, stream>>>(d);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaStreamQuery(stream));
    }
    int h[32];
    CHECK(cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost));
    for (int v : h) EXPECT_EQ(v, 6);

    // Destroying a stream with work in it does not lose the work.
    cudaStream_t brief;
    CHECK(cudaStreamCreate(&brief));
    touch<<<1, 32, 0, brief>>>(d);
    CHECK(cudaStreamDestroy(brief));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost));
    EXPECT_EQ(h[31], 7);
    CHECK(cudaStreamDestroy(plain));
    CHECK(cudaStreamDestroy(aside));
    CHECK(cudaStreamDestroy(urgent));
    CHECK(cudaFree(d));
    return pass();
}
