#include <torch/extension.h>

struct Shape {
    int channels, length;  // of an input signal
    int filters, kernel;
    int out_length;
    int stride, padding;
};

// One thread per element of the output [batch][filters][out_length].
__global__ void conv1d(const float* x, const float* weight, const float* bias, float* y, Shape s, int64_t size) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= size) return;
    int position = i % s.out_length;
    int filter = i / s.out_length % s.filters;
    int64_t signal = i / s.out_length / s.filters;

    float sum = bias[filter];
    for (int channel = 0; channel < s.channels; ++channel) {
        const float* samples = x + (signal * s.channels + channel) * s.length;
        const float* taps = weight + (filter * s.channels + channel) * s.kernel;
        for (int kx = 0; kx < s.kernel; ++kx) {
            int x_in = position * s.stride - s.padding + kx;
            if (x_in < 0 || x_in >= s.length) continue;
            sum += samples[x_in] * taps[kx];
        }
    }
    y[i] = sum;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t stride, int64_t padding) {
    TORCH_CHECK(x.is_cuda() && weight.is_cuda() && bias.is_cuda(), "x, weight and bias must be on the GPU");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32 && weight.scalar_type() == torch::kFloat32 &&
                    bias.scalar_type() == torch::kFloat32,
                "x, weight and bias must be float32");
    TORCH_CHECK(x.dim() == 3 && weight.dim() == 3, "x and weight must have three dimensions");
    TORCH_CHECK(x.size(1) == weight.size(1), "x and weight must have the same number of channels");
    TORCH_CHECK(bias.dim() == 1 && bias.size(0) == weight.size(0), "bias must have one value per filter");
    TORCH_CHECK(stride > 0, "stride must be positive");
    TORCH_CHECK(padding >= 0, "padding must not be negative");
    x = x.contiguous();
    weight = weight.contiguous();
    bias = bias.contiguous();
    Shape s;
    s.channels = x.size(1);
    s.length = x.size(2);
    s.filters = weight.size(0);
    s.kernel = weight.size(2);
    s.stride = stride;
    s.padding = padding;
    TORCH_CHECK(s.length + 2 * s.padding >= s.kernel, "the kernel does not fit into the input");
    s.out_length = (s.length + 2 * s.padding - s.kernel) / s.stride + 1;
    auto y = torch::empty({x.size(0), s.filters, s.out_length}, x.options());
    int64_t size = y.numel();
    const int threads = 256;
    conv1d<<<(size + threads - 1) / threads, threads>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), s, size);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Convolution of signals (1-D) with stride and padding");
}
