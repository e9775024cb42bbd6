#include <torch/extension.h>

#include <cmath>

__global__ void elu(const float* x, float* y, int64_t size, float alpha) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= size) return;
    float value = x[i];
    y[i] = value > 0.0f ? value : alpha * expm1f(value);
}

torch::Tensor forward(torch::Tensor x, double alpha) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 tensor on the GPU");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int64_t size = x.numel();
    const int threads = 256;
    int64_t blocks = (size + threads - 1) / threads;
    elu<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), size, alpha);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "ELU: exponential linear unit");
}
