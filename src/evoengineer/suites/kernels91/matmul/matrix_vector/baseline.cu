#include <torch/extension.h>

// y[m] = a[m][k] × x[k], one thread per element of y.
__global__ void matrix_vector(const float* a, const float* x, float* y, int m, int k) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += a[static_cast<int64_t>(row) * k + i] * x[i];
    y[row] = sum;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor x) {
    TORCH_CHECK(a.is_cuda() && x.is_cuda(), "a and x must be on the GPU");
    TORCH_CHECK(a.scalar_type() == torch::kFloat32 && x.scalar_type() == torch::kFloat32, "a and x must be float32");
    TORCH_CHECK(a.dim() == 2 && x.dim() == 1 && a.size(1) == x.size(0), "the matrix and the vector do not fit");
    a = a.contiguous();
    x = x.contiguous();
    int m = a.size(0), k = a.size(1);
    auto y = torch::empty({m}, a.options());
    const int threads = 256;
    matrix_vector<<<(m + threads - 1) / threads, threads>>>(
        a.data_ptr<float>(), x.data_ptr<float>(), y.data_ptr<float>(), m, k);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Product of a matrix and a vector");
}
