#include <torch/extension.h>

__global__ void matrix_scalar(const float* a, float* c, float scale, int64_t size) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < size) c[i] = a[i] * scale;
}

torch::Tensor forward(torch::Tensor a, double scale) {
    TORCH_CHECK(a.is_cuda(), "a must be on the GPU");
    TORCH_CHECK(a.scalar_type() == torch::kFloat32, "a must be float32");
    TORCH_CHECK(a.dim() == 2, "a must be a matrix");
    a = a.contiguous();
    auto c = torch::empty_like(a);
    int64_t size = a.numel();
    const int threads = 256;
    matrix_scalar<<<(size + threads - 1) / threads, threads>>>(a.data_ptr<float>(), c.data_ptr<float>(), scale, size);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Product of a matrix and a number");
}
