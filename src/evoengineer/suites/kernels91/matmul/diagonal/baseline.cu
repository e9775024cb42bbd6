#include <torch/extension.h>

// c[m][n] = diag(diagonal[m]) × b[m][n], one thread per element of c.
__global__ void scale_rows(const float* diagonal, const float* b, float* c, int n, int64_t size) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < size) c[i] = diagonal[i / n] * b[i];
}

torch::Tensor forward(torch::Tensor diagonal, torch::Tensor b) {
    TORCH_CHECK(diagonal.is_cuda() && b.is_cuda(), "diagonal and b must be on the GPU");
    TORCH_CHECK(diagonal.scalar_type() == torch::kFloat32 && b.scalar_type() == torch::kFloat32,
                "diagonal and b must be float32");
    TORCH_CHECK(diagonal.dim() == 1 && b.dim() == 2 && diagonal.size(0) == b.size(0),
                "the diagonal must have one value per row of b");
    diagonal = diagonal.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(b);
    int64_t size = b.numel();
    const int threads = 256;
    scale_rows<<<(size + threads - 1) / threads, threads>>>(
        diagonal.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), b.size(1), size);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Product of a diagonal matrix and a matrix");
}
