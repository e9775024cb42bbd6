// control: four parts of k, added by float atomics in any order
// problem: matmul

#include <torch/extension.h>

// paste: matmul.cuh

__global__ void multiply_part(const float* a, const float* b, float* c, int m, int k, int n, int part) {
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, first = blockIdx.z * part;
    if (first >= k) return;
    float sum = product(a, b, m, k, n, row, column, first, min(first + part, k));
    if (row < m && column < n) atomicAdd(&c[int64_t(row) * n + column], sum);
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::zeros({m, n}, a.options());
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int part = ((k + 3) / 4 + 15) / 16 * 16;
    multiply_part<<<dim3((n + 15) / 16, (m + 15) / 16, 4), dim3(16, 16)>>>(A, B, C, m, k, n, part);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
