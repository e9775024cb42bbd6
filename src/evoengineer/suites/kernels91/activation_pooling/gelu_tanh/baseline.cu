#include <torch/extension.h>

#include <cmath>

__global__ void gelu_tanh(const float* x, float* y, int64_t size) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= size) return;
    float value = x[i];
    float inner = 0.79788456080286536f * (value + 0.044715f * value * value * value);  // sqrt(2 / pi)
    y[i] = 0.5f * value * (1.0f + tanhf(inner));
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 tensor on the GPU");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int64_t size = x.numel();
    const int threads = 256;
    int64_t blocks = (size + threads - 1) / threads;
    gelu_tanh<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), size);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "GELU, approximated with the hyperbolic tangent");
}
