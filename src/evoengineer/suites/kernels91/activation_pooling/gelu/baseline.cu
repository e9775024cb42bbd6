#include <torch/extension.h>

#include <cmath>

__global__ void gelu(const float* x, float* y, int64_t size) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= size) return;
    float value = x[i];
    y[i] = 0.5f * value * (1.0f + erff(value * 0.70710678118654752f));  // 1 / sqrt(2)
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 tensor on the GPU");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int64_t size = x.numel();
    const int threads = 256;
    int64_t blocks = (size + threads - 1) / threads;
    gelu<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), size);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "GELU: x times the normal distribution function of x");
}
