#include <torch/extension.h>

#include <cmath>

__global__ void selu(const float* x, float* y, int64_t size) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= size) return;
    const float alpha = 1.6732632423543772f;
    const float scale = 1.0507009873554805f;
    float value = x[i];
    y[i] = scale * (value > 0.0f ? value : alpha * expm1f(value));
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 tensor on the GPU");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int64_t size = x.numel();
    const int threads = 256;
    int64_t blocks = (size + threads - 1) / threads;
    selu<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), size);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "SELU: scaled exponential linear unit");
}
