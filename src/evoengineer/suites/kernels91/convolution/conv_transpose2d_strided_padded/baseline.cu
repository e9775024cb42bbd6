#include <torch/extension.h>

struct Shape {
    int channels, height, width;  // of an input image
    int filters, kernel;
    int out_height, out_width;
    int stride, padding;
};

// One thread per element of the output [batch][filters][out_height][out_width].
// Element n of the input reaches element n × stride - padding + k of the output through tap k:
// each output gathers what reaches it.
__global__ void conv_transpose2d(const float* x, const float* weight, const float* bias, float* y, Shape s,
                                 int64_t size) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= size) return;
    int column = i % s.out_width;
    int row = i / s.out_width % s.out_height;
    int filter = i / s.out_width / s.out_height % s.filters;
    int64_t image = i / s.out_width / s.out_height / s.filters;

    int64_t channel_size = s.height * s.width;
    int taps = s.kernel * s.kernel;
    x += image * s.channels * channel_size;
    weight += filter * taps;
    float sum = bias[filter];
    for (int ky = 0; ky < s.kernel; ++ky) {
        int y_from = row + s.padding - ky;
        if (y_from < 0 || y_from % s.stride != 0) continue;
        int y_in = y_from / s.stride;
        if (y_in >= s.height) continue;
        for (int kx = 0; kx < s.kernel; ++kx) {
            int x_from = column + s.padding - kx;
            if (x_from < 0 || x_from % s.stride != 0) continue;
            int x_in = x_from / s.stride;
            if (x_in >= s.width) continue;
            const float* from = x + y_in * s.width + x_in;
            const float* tap = weight + ky * s.kernel + kx;
            for (int channel = 0; channel < s.channels; ++channel) {
                sum += from[channel * channel_size] * tap[channel * s.filters * taps];
            }
        }
    }
    y[i] = sum;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t stride, int64_t padding,
                      int64_t output_padding) {
    TORCH_CHECK(x.is_cuda() && weight.is_cuda() && bias.is_cuda(), "x, weight and bias must be on the GPU");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32 && weight.scalar_type() == torch::kFloat32 &&
                    bias.scalar_type() == torch::kFloat32,
                "x, weight and bias must be float32");
    TORCH_CHECK(x.dim() == 4 && weight.dim() == 4, "x and weight must have four dimensions");
    TORCH_CHECK(x.size(1) == weight.size(0), "x and weight must have the same number of channels");
    TORCH_CHECK(weight.size(2) == weight.size(3), "the kernel must be square");
    TORCH_CHECK(bias.dim() == 1 && bias.size(0) == weight.size(1), "bias must have one value per filter");
    TORCH_CHECK(stride > 0, "stride must be positive");
    TORCH_CHECK(padding >= 0 && output_padding >= 0, "padding and output_padding must not be negative");
    x = x.contiguous();
    weight = weight.contiguous();
    bias = bias.contiguous();
    Shape s;
    s.channels = x.size(1);
    s.height = x.size(2);
    s.width = x.size(3);
    s.filters = weight.size(1);
    s.kernel = weight.size(2);
    s.stride = stride;
    s.padding = padding;
    s.out_height = (s.height - 1) * s.stride - 2 * s.padding + s.kernel + output_padding;
    s.out_width = (s.width - 1) * s.stride - 2 * s.padding + s.kernel + output_padding;
    TORCH_CHECK(s.out_height > 0 && s.out_width > 0, "the padding leaves no output");
    auto y = torch::empty({x.size(0), s.filters, s.out_height, s.out_width}, x.options());
    int64_t size = y.numel();
    const int threads = 256;
    conv_transpose2d<<<(size + threads - 1) / threads, threads>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), s, size);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Transposed convolution of images (2-D) with stride and padding");
}
