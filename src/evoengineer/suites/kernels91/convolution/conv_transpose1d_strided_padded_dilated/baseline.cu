#include <torch/extension.h>

struct Shape {
    int channels, length;  // of an input signal
    int filters, kernel;
    int out_length;
    int stride, padding, dilation;
};

// One thread per element of the output [batch][filters][out_length].
// Element n of the input reaches element n × stride - padding + k × dilation of the output through tap k:
// each output gathers what reaches it.
__global__ void conv_transpose1d(const float* x, const float* weight, const float* bias, float* y, Shape s,
                                 int64_t size) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= size) return;
    int position = i % s.out_length;
    int filter = i / s.out_length % s.filters;
    int64_t signal = i / s.out_length / s.filters;

    x += signal * s.channels * s.length;
    weight += filter * s.kernel;
    float sum = bias[filter];
    for (int kx = 0; kx < s.kernel; ++kx) {
        int x_from = position + s.padding - kx * s.dilation;
        if (x_from < 0 || x_from % s.stride != 0) continue;
        int x_in = x_from / s.stride;
        if (x_in >= s.length) continue;
        for (int channel = 0; channel < s.channels; ++channel) {
            sum += x[static_cast<int64_t>(channel) * s.length + x_in] * weight[channel * s.filters * s.kernel + kx];
        }
    }
    y[i] = sum;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t stride, int64_t padding,
                      int64_t output_padding, int64_t dilation) {
    TORCH_CHECK(x.is_cuda() && weight.is_cuda() && bias.is_cuda(), "x, weight and bias must be on the GPU");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32 && weight.scalar_type() == torch::kFloat32 &&
                    bias.scalar_type() == torch::kFloat32,
                "x, weight and bias must be float32");
    TORCH_CHECK(x.dim() == 3 && weight.dim() == 3, "x and weight must have three dimensions");
    TORCH_CHECK(x.size(1) == weight.size(0), "x and weight must have the same number of channels");
    TORCH_CHECK(bias.dim() == 1 && bias.size(0) == weight.size(1), "bias must have one value per filter");
    TORCH_CHECK(stride > 0 && dilation > 0, "stride and dilation must be positive");
    TORCH_CHECK(padding >= 0 && output_padding >= 0, "padding and output_padding must not be negative");
    x = x.contiguous();
    weight = weight.contiguous();
    bias = bias.contiguous();
    Shape s;
    s.channels = x.size(1);
    s.length = x.size(2);
    s.filters = weight.size(1);
    s.kernel = weight.size(2);
    s.stride = stride;
    s.padding = padding;
    s.dilation = dilation;
    s.out_length = (s.length - 1) * s.stride - 2 * s.padding + s.dilation * (s.kernel - 1) + 1 + output_padding;
    TORCH_CHECK(s.out_length > 0, "the padding leaves no output");
    auto y = torch::empty({x.size(0), s.filters, s.out_length}, x.options());
    int64_t size = y.numel();
    const int threads = 256;
    conv_transpose1d<<<(size + threads - 1) / threads, threads>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), s, size);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Transposed convolution of signals (1-D) with stride, padding and dilation");
}
