// control: three products of two TF32 parts of each operand, which keep float32's precision
// problem: matmul

#include <torch/extension.h>

__device__ float high(float v) { return __uint_as_float(__float_as_uint(v) & 0xffffe000u); }

__global__ void multiply_parts(const float* a, const float* b, float* c, int m, int k, int n) {
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n) return;
    float sum = 0.0f, rest = 0.0f;
    for (int i = 0; i < k; i++) {
        float left = a[int64_t(row) * k + i], right = b[int64_t(i) * n + column];
        float left_high = high(left), right_high = high(right);
        float left_low = high(left - left_high), right_low = high(right - right_high);
        sum += left_high * right_high;
        rest += left_high * right_low + left_low * right_high;
    }
    c[int64_t(row) * n + column] = sum + rest;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    multiply_parts<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(A, B, C, m, k, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
