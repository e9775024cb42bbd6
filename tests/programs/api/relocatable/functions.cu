#include "functions.h"

__device__ float cube(float x) { return x * x * x; }
__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ float Shape::area() const { return width * height; }
static __device__ int plus(int a, int b) { return a + b; }
static __device__ int times(int a, int b) { return a * b; }
__device__ Operation operations[2] = {plus, times};
