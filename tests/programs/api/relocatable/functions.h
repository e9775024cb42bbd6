// Device functions defined in functions.cu and called from kernels in main.cu.
#pragma once
__device__ float cube(float x);
__device__ int fibonacci(int n);
struct Shape {
    float width, height;
    __device__ float area() const;
};
typedef int (*Operation)(int, int);
extern __device__ Operation operations[2];
