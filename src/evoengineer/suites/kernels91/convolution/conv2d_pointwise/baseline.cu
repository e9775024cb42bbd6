#include <torch/extension.h>

// One thread per element of the output [batch][filters][pixels].
__global__ void pointwise_conv2d(const float* x, const float* weight, const float* bias, float* y, int channels,
                                 int filters, int pixels, int64_t size) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= size) return;
    int pixel = i % pixels;
    int filter = i / pixels % filters;
    int64_t image = i / pixels / filters;

    float sum = bias[filter];
    for (int channel = 0; channel < channels; ++channel) {
        sum += x[(image * channels + channel) * pixels + pixel] * weight[filter * channels + channel];
    }
    y[i] = sum;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda() && weight.is_cuda() && bias.is_cuda(), "x, weight and bias must be on the GPU");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32 && weight.scalar_type() == torch::kFloat32 &&
                    bias.scalar_type() == torch::kFloat32,
                "x, weight and bias must be float32");
    TORCH_CHECK(x.dim() == 4 && weight.dim() == 4, "x and weight must have four dimensions");
    TORCH_CHECK(x.size(1) == weight.size(1), "x and weight must have the same number of channels");
    TORCH_CHECK(weight.size(2) == 1 && weight.size(3) == 1, "the kernel must have size 1");
    TORCH_CHECK(bias.dim() == 1 && bias.size(0) == weight.size(0), "bias must have one value per filter");
    x = x.contiguous();
    weight = weight.contiguous();
    bias = bias.contiguous();
    int channels = x.size(1), filters = weight.size(0), pixels = x.size(2) * x.size(3);
    auto y = torch::empty({x.size(0), filters, x.size(2), x.size(3)}, x.options());
    int64_t size = y.numel();
    const int threads = 256;
    pointwise_conv2d<<<(size + threads - 1) / threads, threads>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), channels, filters,
        pixels, size);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Pointwise convolution of images (2-D, kernel of size 1)");
}
