// Separate compilation: kernels call device functions of another file, also through pointers.
// nvcc: -rdc=true
#include "../check.h"
#include "functions.h"

__global__ void use(float* floats, int* ints) {
    int i = threadIdx.x;
    Shape shape = {float(i), 2.5f};
    floats[i] = cube(float(i)) + shape.area();
    ints[i] = fibonacci(i % 8) * 1000 + operations[i % 2](i, 3);
}

int main() {
    float* floats;
    int* ints;
    CHECK(cudaMallocManaged(&floats, 32 * sizeof(float)));
    CHECK(cudaMallocManaged(&ints, 32 * sizeof(int)));
    use<<<1, 32>>>(floats, ints);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    const int fib[8] = {0, 1, 1, 2, 3, 5, 8, 13};
    for (int i = 0; i < 32; i++) {
        EXPECT_EQ(floats[i], float(i) * i * i + i * 2.5f);
        EXPECT_EQ(ints[i], fib[i % 8] * 1000 + (i % 2 ? i * 3 : i + 3));
    }
    CHECK(cudaFree(floats));
    CHECK(cudaFree(ints));
    return pass();
}
