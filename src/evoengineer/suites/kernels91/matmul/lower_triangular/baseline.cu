#include <torch/extension.h>

// c = a × b for lower triangular matrices of n rows, one thread per element of c.
// a[row][i] is zero right of the diagonal and b[i][column] above it: i runs from column to row only.
__global__ void lower_triangular_matmul(const float* a, const float* b, float* c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || column >= n) return;
    float sum = 0.0f;
    for (int i = column; i <= row; ++i) {
        sum += a[static_cast<int64_t>(row) * n + i] * b[static_cast<int64_t>(i) * n + column];
    }
    c[static_cast<int64_t>(row) * n + column] = sum;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(a.is_cuda() && b.is_cuda(), "a and b must be on the GPU");
    TORCH_CHECK(a.scalar_type() == torch::kFloat32 && b.scalar_type() == torch::kFloat32, "a and b must be float32");
    TORCH_CHECK(a.dim() == 2 && a.size(0) == a.size(1), "a must be a square matrix");
    TORCH_CHECK(a.sizes() == b.sizes(), "a and b must have the same shape");
    a = a.contiguous();
    b = b.contiguous();
    int n = a.size(0);
    auto c = torch::empty({n, n}, a.options());
    dim3 threads(16, 16);
    dim3 blocks((n + 15) / 16, (n + 15) / 16);
    lower_triangular_matmul<<<blocks, threads>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Product of two lower triangular matrices");
}
