#include <torch/extension.h>

__global__ void leaky_relu(const float* x, float* y, int64_t size, float negative_slope) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= size) return;
    float value = x[i];
    y[i] = value > 0.0f ? value : value * negative_slope;
}

torch::Tensor forward(torch::Tensor x, double negative_slope) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 tensor on the GPU");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int64_t size = x.numel();
    const int threads = 256;
    int64_t blocks = (size + threads - 1) / threads;
    leaky_relu<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), size, negative_slope);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Leaky ReLU: negative values are scaled by a slope");
}
