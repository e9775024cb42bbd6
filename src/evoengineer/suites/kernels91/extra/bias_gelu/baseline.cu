#include <torch/extension.h>

#include <cmath>

__global__ void bias_gelu(const float* x, const float* bias, float* y, int64_t size, int columns) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= size) return;
    float value = x[i] + bias[i % columns];
    y[i] = 0.5f * value * (1.0f + erff(value * 0.70710678118654752f));  // 1 / sqrt(2)
}

torch::Tensor forward(torch::Tensor x, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda() && bias.is_cuda(), "x and bias must be on the GPU");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32 && bias.scalar_type() == torch::kFloat32,
                "x and bias must be float32");
    TORCH_CHECK(x.dim() == 2 && bias.numel() == x.size(1), "bias must have one value per column of x");
    x = x.contiguous();
    bias = bias.contiguous();
    auto y = torch::empty_like(x);
    int64_t size = x.numel();
    const int threads = 256;
    int64_t blocks = (size + threads - 1) / threads;
    bias_gelu<<<blocks, threads>>>(x.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), size, x.size(1));
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "GELU of the sum of a matrix and a bias for each column");
}
