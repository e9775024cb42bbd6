// Every way to launch: <<<>>>, cudaLaunchKernel, cudaLaunchKernelEx, cudaLaunchKernelExC, a function
// pointer, a template; parameters of all sizes and alignments.
#include "check.h"

struct Big {
    char tag;
    double values[20];
    short tail;
};

struct alignas(16) Vector {
    float x, y, z, w;
};

__global__ void mixed(int* out, char a, short b, long long c, float d, double e, Vector v, Big big, bool flag) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a + b + int(c) + int(d) + int(e) + int(v.w) + big.tag + int(big.values[19]) + big.tail + flag + i;
}

__global__ void count_threads(int* out) {
    atomicAdd(out, 1);
    if (blockIdx.x == gridDim.x - 1 && blockIdx.y == gridDim.y - 1 && blockIdx.z == gridDim.z - 1 &&
        threadIdx.x == blockDim.x - 1 && threadIdx.y == blockDim.y - 1 && threadIdx.z == blockDim.z - 1)
        out[1] = 1;
}

template <typename T, int N>
__global__ void templated(T* out) {
    out[threadIdx.x] = T(N) + T(threadIdx.x) / 2;
}

struct Large {
    int values[900];
};
__global__ void large(Large parameter, int* out) {
    int sum = 0;
    for (int i = threadIdx.x; i < 900; i += 32) sum += parameter.values[i];
    atomicAdd(out, sum);
}

int main() {
    const int n = 70;
    int *d, h[n];
    CHECK(cudaMalloc(&d, n * sizeof(int)));
    Big big = {};
    big.tag = 1, big.values[19] = 100, big.tail = 1000;
    Vector v = {1, 2, 3, 4};
    char a = 2;
    short b = 20;
    long long c = 200;
    float f = 2000;
    double e = 20000;
    bool flag = true;
    const int sum = 2 + 20 + 200 + 2000 + 20000 + 4 + 1 + 100 + 1000 + 1;
    auto verify = [&] {
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost));
        for (int i = 0; i < n; i++) EXPECT_EQ(h[i], sum + i);
        CHECK(cudaMemset(d, 0, sizeof(h)));
    };
    mixed<<<2, 35>>>(d, a, b, c, f, e, v, big, flag);
    verify();
    void* args[] = {&d, &a, &b, &c, &f, &e, &v, &big, &flag};
    CHECK(cudaLaunchKernel((const void*)mixed, dim3(2), dim3(35), args, 0, nullptr));
    verify();
    CHECK(cudaLaunchKernel(mixed, dim3(7), dim3(10), args));
    verify();
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(5);
    config.blockDim = dim3(14);
    CHECK(cudaLaunchKernelExC(&config, (const void*)mixed, args));
    verify();
    CHECK(cudaLaunchKernelEx(&config, mixed, d, a, b, c, f, e, v, big, flag));
    verify();
    auto pointer = &mixed;
    pointer<<<1, 70>>>(d, a, b, c, f, e, v, big, flag);
    verify();

    int two[2];
    count_threads<<<dim3(3, 4, 5), dim3(6, 7, 2)>>>(d);
    CHECK(cudaMemcpy(two, d, sizeof(two), cudaMemcpyDeviceToHost));
    EXPECT_EQ(two[0], 3 * 4 * 5 * 6 * 7 * 2);
    EXPECT_EQ(two[1], 1);

    templated<float, 7><<<1, 32>>>(reinterpret_cast<float*>(d));
    float floats[32];
    CHECK(cudaMemcpy(floats, d, sizeof(floats), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++) EXPECT_EQ(floats[i], 7 + i / 2.0f);
    templated<int, -3><<<1, 32>>>(d);
    CHECK(cudaMemcpy(h, d, 32 * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++) EXPECT_EQ(h[i], -3 + i / 2);

    Large parameter;
    for (int i = 0; i < 900; i++) parameter.values[i] = i;
    CHECK(cudaMemset(d, 0, sizeof(int)));
    large<<<1, 32>>>(parameter, d);
    CHECK(cudaMemcpy(h, d, sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT_EQ(h[0], 900 * 899 / 2);
    CHECK(cudaFree(d));
    return pass();
}
