// control: tiles above the diagonal are cleared, the others skip what is zero
// problem: kernels91/matmul/lower_triangular

#include <torch/extension.h>

// paste: matmul.cuh

__global__ void multiply_lower(const float* a, const float* b, float* c, int n) {
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    if (blockIdx.x <= blockIdx.y)
        sum = product(a, b, n, n, n, row, column, blockIdx.x * 16, min(n, int(blockIdx.y + 1) * 16));
    if (row < n && column < n) c[int64_t(row) * n + column] = column > row ? 0.0f : sum;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    int n = a.size(0);
    auto c = torch::empty({n, n}, a.options());
    dim3 grid((n + 15) / 16, (n + 15) / 16);
    multiply_lower<<<grid, dim3(16, 16)>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
