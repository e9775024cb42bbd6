// Kernels from generic code: extended lambdas, functors, a kernel in a class template, variadic ones.
// nvcc: --extended-lambda -std=c++17
#include "check.h"

template <typename Function>
__global__ void for_each(int n, Function function) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) function(i);
}

template <typename Function>
void parallel(int n, Function function) {
    for_each<<<4, 64>>>(n, function);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

template <typename... Terms>
__global__ void sum_all(double* out, Terms... terms) {
    *out = (0.0 + ... + double(terms));
}

struct Affine {
    float scale, shift;
    float* data;
    __device__ void operator()(int i) const { data[i] = data[i] * scale + shift; }
};

template <typename T>
struct Table {
    T rows[4];
    __host__ __device__ T at(int i) const { return rows[i % 4]; }
};

int main() {
    const int n = 777;
    float* data;
    CHECK(cudaMallocManaged(&data, n * sizeof(float)));
    float offset = 0.5f;
    Table<short> table = {{1, 10, 100, 1000}};
    parallel(n, [=] __device__(int i) { data[i] = i + offset + table.at(i); });
    for (int i = 0; i < n; i++) EXPECT_EQ(data[i], i + offset + table.at(i));
    parallel(n, Affine{2, -1, data});
    for (int i = 0; i < n; i++) EXPECT_EQ(data[i], (i + offset + table.at(i)) * 2 - 1);
    parallel(n, [data, n] __host__ __device__(int i) {
        if (i < n / 2) {
            float swap = data[i];
            data[i] = data[n - 1 - i];
            data[n - 1 - i] = swap;
        }
    });
    for (int i = 0; i < n; i++) {
        int j = n - 1 - i;
        EXPECT_EQ(data[i], (j + offset + table.at(j)) * 2 - 1);
    }
    double* out;
    CHECK(cudaMallocManaged(&out, sizeof(double)));
    sum_all<<<1, 1>>>(out, 1, 2.5f, (char)3, 4.25, short(5), 6ull);
    CHECK(cudaDeviceSynchronize());
    EXPECT_EQ(*out, 21.75);
    CHECK(cudaFree(data));
    CHECK(cudaFree(out));
    return pass();
}
