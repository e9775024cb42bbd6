// cudaHostRegister turns ordinary memory into pinned memory that kernels may use.
#include "check.h"

#include <cstdint>

__global__ void increment(int* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i]++;
}

int main() {
    const int n = 4096;
    const size_t bytes = n * sizeof(int);
    int* memory = static_cast<int*>(aligned_alloc(4096, bytes));
    for (int i = 0; i < n; i++) memory[i] = i;
    CHECK(cudaHostRegister(memory, bytes, cudaHostRegisterMapped));
    EXPECT_ERROR(cudaHostRegister(memory, bytes, cudaHostRegisterDefault), cudaErrorHostMemoryAlreadyRegistered);
    for (int i = 0; i < n; i++) EXPECT_EQ(memory[i], i);

    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, memory));
    EXPECT_EQ(int(attributes.type), int(cudaMemoryTypeHost));

    int* device;
    CHECK(cudaHostGetDevicePointer(&device, memory, 0));
    increment<<<n / 256, 256>>>(device, n);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++) EXPECT_EQ(memory[i], i + 1);

    // The host writes between two kernels.
    memory[17] = 1000;
    increment<<<1, 32>>>(device, 32);
    CHECK(cudaDeviceSynchronize());
    EXPECT_EQ(memory[17], 1001);
    EXPECT_EQ(memory[0], 2);
    EXPECT_EQ(memory[32], 33);

    CHECK(cudaHostUnregister(memory));
    EXPECT_ERROR(cudaHostUnregister(memory), cudaErrorHostMemoryNotRegistered);
    for (int i = 33; i < n; i++) EXPECT_EQ(memory[i], i + 1);
    memory[5] = 3;  // still ours
    free(memory);

    // A region that is not aligned to a page, as from a std::vector.
    std::vector<int> data(300, 4);
    CHECK(cudaHostRegister(data.data(), data.size() * sizeof(int), cudaHostRegisterDefault));
    int* d;
    CHECK(cudaMalloc(&d, 300 * sizeof(int)));
    CHECK(cudaMemcpyAsync(d, data.data(), 300 * sizeof(int), cudaMemcpyHostToDevice));
    increment<<<2, 256>>>(d, 300);
    CHECK(cudaMemcpyAsync(data.data(), d, 300 * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaDeviceSynchronize());
    for (int v : data) EXPECT_EQ(v, 5);
    CHECK(cudaHostUnregister(data.data()));
    CHECK(cudaFree(d));

    // A stack may be registered, this function's frame and those of the calls included.
    int local[300];
    for (int& v : local) v = 6;
    CHECK(cudaHostRegister(local, sizeof local, cudaHostRegisterMapped));
    CHECK(cudaHostGetDevicePointer(&device, local, 0));
    increment<<<2, 256>>>(device, 300);
    CHECK(cudaDeviceSynchronize());
    for (int v : local) EXPECT_EQ(v, 7);
    CHECK(cudaHostUnregister(local));
    for (int v : local) EXPECT_EQ(v, 7);
    return pass();
}
