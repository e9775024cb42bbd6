#include <torch/extension.h>

// c[batch][m][n] = a[batch][m][k] × b[batch][k][n], one thread per element of c; blockIdx.z is the batch.
__global__ void batched_matmul(const float* a, const float* b, float* c, int m, int k, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n) return;
    int64_t batch = blockIdx.z;
    a += (batch * m + row) * k;
    b += batch * k * n + column;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += a[i] * b[static_cast<int64_t>(i) * n];
    c[(batch * m + row) * n + column] = sum;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(a.is_cuda() && b.is_cuda(), "a and b must be on the GPU");
    TORCH_CHECK(a.scalar_type() == torch::kFloat32 && b.scalar_type() == torch::kFloat32, "a and b must be float32");
    TORCH_CHECK(a.dim() == 3 && b.dim() == 3, "a and b must have three dimensions");
    TORCH_CHECK(a.size(0) == b.size(0) && a.size(2) == b.size(1), "the matrices do not fit");
    TORCH_CHECK(a.size(0) <= 65535, "at most 65535 batches");
    a = a.contiguous();
    b = b.contiguous();
    int batch = a.size(0), m = a.size(1), k = a.size(2), n = b.size(2);
    auto c = torch::empty({batch, m, n}, a.options());
    dim3 threads(16, 16);
    dim3 blocks((n + 15) / 16, (m + 15) / 16, batch);
    batched_matmul<<<blocks, threads>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, k, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Products of pairs of matrices");
}
