#include <torch/extension.h>

// c[batch][i][j][n] = a[batch][i][j][k] × b[k][n], one thread per element of c: a is a matrix of batch × i × j rows.
__global__ void tensor_matmul(const float* a, const float* b, float* c, int k, int n, int64_t size) {
    int64_t index = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (index >= size) return;
    int64_t row = index / n;
    int column = index % n;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[static_cast<int64_t>(i) * n + column];
    c[index] = sum;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(a.is_cuda() && b.is_cuda(), "a and b must be on the GPU");
    TORCH_CHECK(a.scalar_type() == torch::kFloat32 && b.scalar_type() == torch::kFloat32, "a and b must be float32");
    TORCH_CHECK(a.dim() == 4 && b.dim() == 2 && a.size(3) == b.size(0), "the tensor and the matrix do not fit");
    a = a.contiguous();
    b = b.contiguous();
    int k = b.size(0), n = b.size(1);
    auto c = torch::empty({a.size(0), a.size(1), a.size(2), n}, a.options());
    int64_t size = c.numel();
    const int threads = 256;
    tensor_matmul<<<(size + threads - 1) / threads, threads>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), k, n, size);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Product of a 4-D tensor and a matrix");
}
