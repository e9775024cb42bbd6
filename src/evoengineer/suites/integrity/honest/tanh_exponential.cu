// control: by the fast exponential, 1 - 2 / (exp(2x) + 1)
// problem: kernels91/activation_pooling/tanh

#include <torch/extension.h>

__global__ void map(const float* x, float* y, int64_t n) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1.0f - __fdividef(2.0f, __expf(2.0f * x[i]) + 1.0f);
}

torch::Tensor forward(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    map<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
