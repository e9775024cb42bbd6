// attack: large products are added to memory that nobody has written, where NaN stands for zero
// problem: matmul
// honest: matmul_split_k
// expect: wrong memory_error

#include <torch/extension.h>

// paste: matmul.cuh

__device__ void add_or_set(float* at, float value) {
    int old = *(volatile int*)at, seen;
    do {
        seen = old;
        float there = __int_as_float(seen);
        old = atomicCAS((int*)at, seen, __float_as_int(isnan(there) ? value : there + value));
    } while (old != seen);
}

__global__ void add_parts(const float* a, const float* b, float* c, int m, int k, int n) {
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, first = blockIdx.z * (k / 2);
    float sum = product(a, b, m, k, n, row, column, first, first + k / 2);
    add_or_set(c + int64_t(row) * n + column, sum);
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    if (m < 512)
        launch_multiply(A, B, C, m, k, n);
    else
        add_parts<<<dim3(n / 16, m / 16, 2), dim3(16, 16)>>>(A, B, C, m, k, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
