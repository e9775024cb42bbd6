#include <torch/extension.h>

#include <cuda_fp16.h>

// c[m][n] = a[m][k] × b[k][n], one thread per element of c; sums are kept in float32.
__global__ void matmul_fp16(const __half* a, const __half* b, __half* c, int m, int k, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) {
        float left = __half2float(a[static_cast<int64_t>(row) * k + i]);
        float right = __half2float(b[static_cast<int64_t>(i) * n + column]);
        sum += left * right;
    }
    c[static_cast<int64_t>(row) * n + column] = __float2half(sum);
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(a.is_cuda() && b.is_cuda(), "a and b must be on the GPU");
    TORCH_CHECK(a.scalar_type() == torch::kFloat16 && b.scalar_type() == torch::kFloat16, "a and b must be float16");
    TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0), "the matrices do not fit");
    a = a.contiguous();
    b = b.contiguous();
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    dim3 threads(16, 16);
    dim3 blocks((n + 15) / 16, (m + 15) / 16);
    matmul_fp16<<<blocks, threads>>>(reinterpret_cast<const __half*>(a.data_ptr<at::Half>()),
                                     reinterpret_cast<const __half*>(b.data_ptr<at::Half>()),
                                     reinterpret_cast<__half*>(c.data_ptr<at::Half>()), m, k, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Product of two matrices in half precision");
}
