#include <torch/extension.h>

struct Shape {
    int channels, height, width;  // of an input image
    int filters, kernel;
    int out_height, out_width;
    int stride, padding, dilation;
};

// First step: every channel by itself. One thread per element of [batch][channels][out_height][out_width].
__global__ void depthwise_conv2d(const float* x, const float* weight, float* y, Shape s, int64_t size) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= size) return;
    int column = i % s.out_width;
    int row = i / s.out_width % s.out_height;
    int64_t plane = i / s.out_width / s.out_height;  // counts channels over all images
    int channel = plane % s.channels;

    x += plane * s.height * s.width;
    weight += channel * s.kernel * s.kernel;
    float sum = 0.0f;
    for (int ky = 0; ky < s.kernel; ++ky) {
        int y_in = row * s.stride - s.padding + ky * s.dilation;
        if (y_in < 0 || y_in >= s.height) continue;
        for (int kx = 0; kx < s.kernel; ++kx) {
            int x_in = column * s.stride - s.padding + kx * s.dilation;
            if (x_in < 0 || x_in >= s.width) continue;
            sum += x[y_in * s.width + x_in] * weight[ky * s.kernel + kx];
        }
    }
    y[i] = sum;
}

// Second step: every pixel by itself. One thread per element of [batch][filters][out_height][out_width].
__global__ void pointwise_conv2d(const float* x, const float* weight, const float* bias, float* y, Shape s,
                                 int64_t size) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= size) return;
    int pixels = s.out_height * s.out_width;
    int pixel = i % pixels;
    int filter = i / pixels % s.filters;
    int64_t image = i / pixels / s.filters;

    float sum = bias[filter];
    for (int channel = 0; channel < s.channels; ++channel) {
        sum += x[(image * s.channels + channel) * pixels + pixel] * weight[filter * s.channels + channel];
    }
    y[i] = sum;
}

static void check_tensor(const torch::Tensor& tensor, const char* name, int dimensions) {
    TORCH_CHECK(tensor.is_cuda(), name, " must be on the GPU");
    TORCH_CHECK(tensor.scalar_type() == torch::kFloat32, name, " must be float32");
    TORCH_CHECK(tensor.dim() == dimensions, name, " must have ", dimensions, " dimensions");
}

torch::Tensor forward(torch::Tensor x, torch::Tensor depthwise_weight, torch::Tensor pointwise_weight,
                      torch::Tensor bias, int64_t stride, int64_t padding, int64_t dilation) {
    check_tensor(x, "x", 4);
    check_tensor(depthwise_weight, "depthwise_weight", 4);
    check_tensor(pointwise_weight, "pointwise_weight", 4);
    check_tensor(bias, "bias", 1);
    TORCH_CHECK(depthwise_weight.size(0) == x.size(1) && depthwise_weight.size(1) == 1,
                "depthwise_weight must have one filter per channel of x");
    TORCH_CHECK(depthwise_weight.size(2) == depthwise_weight.size(3), "the depthwise kernel must be square");
    TORCH_CHECK(pointwise_weight.size(1) == x.size(1),
                "x and pointwise_weight must have the same number of channels");
    TORCH_CHECK(pointwise_weight.size(2) == 1 && pointwise_weight.size(3) == 1,
                "the pointwise kernel must have size 1");
    TORCH_CHECK(bias.size(0) == pointwise_weight.size(0), "bias must have one value per filter");
    TORCH_CHECK(stride > 0 && dilation > 0, "stride and dilation must be positive");
    TORCH_CHECK(padding >= 0, "padding must not be negative");
    x = x.contiguous();
    depthwise_weight = depthwise_weight.contiguous();
    pointwise_weight = pointwise_weight.contiguous();
    bias = bias.contiguous();
    Shape s;
    s.channels = x.size(1);
    s.height = x.size(2);
    s.width = x.size(3);
    s.filters = pointwise_weight.size(0);
    s.kernel = depthwise_weight.size(2);
    s.stride = stride;
    s.padding = padding;
    s.dilation = dilation;
    int reach = s.dilation * (s.kernel - 1);
    TORCH_CHECK(s.height + 2 * s.padding > reach && s.width + 2 * s.padding > reach,
                "the kernel does not fit into the input");
    s.out_height = (s.height + 2 * s.padding - reach - 1) / s.stride + 1;
    s.out_width = (s.width + 2 * s.padding - reach - 1) / s.stride + 1;

    const int threads = 256;
    auto filtered = torch::empty({x.size(0), s.channels, s.out_height, s.out_width}, x.options());
    int64_t size = filtered.numel();
    depthwise_conv2d<<<(size + threads - 1) / threads, threads>>>(
        x.data_ptr<float>(), depthwise_weight.data_ptr<float>(), filtered.data_ptr<float>(), s, size);

    auto y = torch::empty({x.size(0), s.filters, s.out_height, s.out_width}, x.options());
    size = y.numel();
    pointwise_conv2d<<<(size + threads - 1) / threads, threads>>>(
        filtered.data_ptr<float>(), pointwise_weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(),
        s, size);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Depthwise-separable convolution of images (2-D)");
}
