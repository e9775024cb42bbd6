// Pinned and mapped host memory: a kernel reads and writes it directly, the host sees the result.
#include "check.h"

__global__ void combine(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * 10 + out[i];
}

__global__ void count(unsigned* counter) { atomicAdd(counter, 1u); }

int main() {
    CHECK(cudaSetDeviceFlags(cudaDeviceMapHost));
    const int n = 500;
    int *in, *out, *d_in, *d_out;
    CHECK(cudaHostAlloc(&in, n * sizeof(int), cudaHostAllocMapped | cudaHostAllocWriteCombined));
    CHECK(cudaHostAlloc((void**)&out, n * sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable));
    unsigned flags;
    CHECK(cudaHostGetFlags(&flags, in));
    EXPECT((flags & cudaHostAllocMapped) != 0 && (flags & cudaHostAllocWriteCombined) != 0);
    for (int i = 0; i < n; i++) in[i] = i, out[i] = 7;
    CHECK(cudaHostGetDevicePointer((void**)&d_in, in, 0));
    CHECK(cudaHostGetDevicePointer(&d_out, out, 0));
    combine<<<(n + 127) / 128, 128>>>(d_in, d_out, n);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++) EXPECT_EQ(out[i], i * 10 + 7);

    // With unified addressing the host pointer itself is valid on the device, also in the middle.
    combine<<<1, 128>>>(in + 100, out + 100, 50);
    CHECK(cudaDeviceSynchronize());
    EXPECT_EQ(out[99], 99 * 10 + 7);
    EXPECT_EQ(out[100], 1000 + 1007);
    EXPECT_EQ(out[149], 1490 + 1497);
    EXPECT_EQ(out[150], 1507);

    // cudaMallocHost memory is mapped too.
    unsigned* counter;
    CHECK(cudaMallocHost(&counter, sizeof(unsigned)));
    *counter = 5;
    count<<<10, 100>>>(counter);
    CHECK(cudaDeviceSynchronize());
    EXPECT_EQ(*counter, 1005u);

    // Copies between pinned and device memory, and out of the middle.
    int* d;
    CHECK(cudaMalloc(&d, n * sizeof(int)));
    CHECK(cudaMemcpy(d, in, n * sizeof(int), cudaMemcpyDefault));
    CHECK(cudaMemcpy(out + 1, d, (n - 1) * sizeof(int), cudaMemcpyDefault));
    for (int i = 1; i < n; i++) EXPECT_EQ(out[i], i - 1);
    CHECK(cudaFree(d));
    CHECK(cudaFreeHost(in));
    CHECK(cudaFreeHost(out));
    CHECK(cudaFreeHost(counter));
    CHECK(cudaFreeHost(nullptr));
    return pass();
}
