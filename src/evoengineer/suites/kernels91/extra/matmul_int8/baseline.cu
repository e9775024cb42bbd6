#include <torch/extension.h>

// c[m][n] = (a[m][k] × b[k][n]) × row_scales[m] × column_scales[n], one thread per element of c.
__global__ void matmul_int8(const int8_t* a, const int8_t* b, const float* row_scales, const float* column_scales,
                            float* c, int m, int k, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n) return;
    int sum = 0;
    for (int i = 0; i < k; ++i) {
        sum += static_cast<int>(a[static_cast<int64_t>(row) * k + i]) * b[static_cast<int64_t>(i) * n + column];
    }
    c[static_cast<int64_t>(row) * n + column] = static_cast<float>(sum) * row_scales[row] * column_scales[column];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b, torch::Tensor row_scales, torch::Tensor column_scales) {
    TORCH_CHECK(a.is_cuda() && b.is_cuda(), "a and b must be on the GPU");
    TORCH_CHECK(a.scalar_type() == torch::kInt8 && b.scalar_type() == torch::kInt8, "a and b must be int8");
    TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0), "the matrices do not fit");
    TORCH_CHECK(a.size(1) <= 131072, "the sums of longer rows may overflow");
    TORCH_CHECK(row_scales.numel() == a.size(0) && column_scales.numel() == b.size(1),
                "there must be a scale for each row of a and each column of b");
    a = a.contiguous();
    b = b.contiguous();
    row_scales = row_scales.contiguous();
    column_scales = column_scales.contiguous();
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, row_scales.options());
    dim3 threads(16, 16);
    dim3 blocks((n + 15) / 16, (m + 15) / 16);
    matmul_int8<<<blocks, threads>>>(a.data_ptr<int8_t>(), b.data_ptr<int8_t>(), row_scales.data_ptr<float>(),
                                     column_scales.data_ptr<float>(), c.data_ptr<float>(), m, k, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Product of two int8 matrices with scales");
}
