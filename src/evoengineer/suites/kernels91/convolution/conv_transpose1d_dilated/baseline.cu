#include <torch/extension.h>

struct Shape {
    int channels, length;  // of an input signal
    int filters, kernel;
    int out_length;
    int dilation;
};

// One thread per element of the output [batch][filters][out_length].
// Element n of the input reaches element n + k × dilation of the output through tap k:
// each output gathers what reaches it.
__global__ void conv_transpose1d(const float* x, const float* weight, float* y, Shape s, int64_t size) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= size) return;
    int position = i % s.out_length;
    int filter = i / s.out_length % s.filters;
    int64_t signal = i / s.out_length / s.filters;

    x += signal * s.channels * s.length;
    weight += filter * s.kernel;
    float sum = 0.0f;
    for (int kx = 0; kx < s.kernel; ++kx) {
        int x_in = position - kx * s.dilation;
        if (x_in < 0 || x_in >= s.length) continue;
        for (int channel = 0; channel < s.channels; ++channel) {
            sum += x[static_cast<int64_t>(channel) * s.length + x_in] * weight[channel * s.filters * s.kernel + kx];
        }
    }
    y[i] = sum;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, int64_t dilation) {
    TORCH_CHECK(x.is_cuda() && weight.is_cuda(), "x and weight must be on the GPU");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32 && weight.scalar_type() == torch::kFloat32,
                "x and weight must be float32");
    TORCH_CHECK(x.dim() == 3 && weight.dim() == 3, "x and weight must have three dimensions");
    TORCH_CHECK(x.size(1) == weight.size(0), "x and weight must have the same number of channels");
    TORCH_CHECK(dilation > 0, "dilation must be positive");
    x = x.contiguous();
    weight = weight.contiguous();
    Shape s;
    s.channels = x.size(1);
    s.length = x.size(2);
    s.filters = weight.size(1);
    s.kernel = weight.size(2);
    s.dilation = dilation;
    s.out_length = s.length + s.dilation * (s.kernel - 1);
    auto y = torch::empty({x.size(0), s.filters, s.out_length}, x.options());
    int64_t size = y.numel();
    const int threads = 256;
    conv_transpose1d<<<(size + threads - 1) / threads, threads>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), s, size);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Transposed convolution of signals (1-D) with dilation");
}
