#include <torch/extension.h>

struct Shape {
    int channels, depth, height, width;  // of an input volume
    int filters, kernel_depth, kernel_height, kernel_width;
    int out_depth, out_height, out_width;
};

// One thread per element of the output [batch][filters][out_depth][out_height][out_width].
// Element n of the input reaches element n + k of the output through tap k:
// each output gathers what reaches it.
__global__ void conv_transpose3d(const float* x, const float* weight, const float* bias, float* y, Shape s,
                                 int64_t size) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= size) return;
    int column = i % s.out_width;
    int row = i / s.out_width % s.out_height;
    int slice = i / s.out_width / s.out_height % s.out_depth;
    int filter = i / s.out_width / s.out_height / s.out_depth % s.filters;
    int64_t volume = i / s.out_width / s.out_height / s.out_depth / s.filters;

    int64_t channel_size = s.depth * s.height * s.width;
    int taps = s.kernel_depth * s.kernel_height * s.kernel_width;
    x += volume * s.channels * channel_size;
    weight += filter * taps;
    float sum = bias[filter];
    for (int kz = 0; kz < s.kernel_depth; ++kz) {
        int z_in = slice - kz;
        if (z_in < 0 || z_in >= s.depth) continue;
        for (int ky = 0; ky < s.kernel_height; ++ky) {
            int y_in = row - ky;
            if (y_in < 0 || y_in >= s.height) continue;
            for (int kx = 0; kx < s.kernel_width; ++kx) {
                int x_in = column - kx;
                if (x_in < 0 || x_in >= s.width) continue;
                const float* from = x + (z_in * s.height + y_in) * s.width + x_in;
                const float* tap = weight + (kz * s.kernel_height + ky) * s.kernel_width + kx;
                for (int channel = 0; channel < s.channels; ++channel) {
                    sum += from[channel * channel_size] * tap[channel * s.filters * taps];
                }
            }
        }
    }
    y[i] = sum;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda() && weight.is_cuda() && bias.is_cuda(), "x, weight and bias must be on the GPU");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32 && weight.scalar_type() == torch::kFloat32 &&
                    bias.scalar_type() == torch::kFloat32,
                "x, weight and bias must be float32");
    TORCH_CHECK(x.dim() == 5 && weight.dim() == 5, "x and weight must have five dimensions");
    TORCH_CHECK(x.size(1) == weight.size(0), "x and weight must have the same number of channels");
    TORCH_CHECK(bias.dim() == 1 && bias.size(0) == weight.size(1), "bias must have one value per filter");
    x = x.contiguous();
    weight = weight.contiguous();
    bias = bias.contiguous();
    Shape s;
    s.channels = x.size(1);
    s.depth = x.size(2);
    s.height = x.size(3);
    s.width = x.size(4);
    s.filters = weight.size(1);
    s.kernel_depth = weight.size(2);
    s.kernel_height = weight.size(3);
    s.kernel_width = weight.size(4);
    s.out_depth = s.depth + s.kernel_depth - 1;
    s.out_height = s.height + s.kernel_height - 1;
    s.out_width = s.width + s.kernel_width - 1;
    auto y = torch::empty({x.size(0), s.filters, s.out_depth, s.out_height, s.out_width}, x.options());
    int64_t size = y.numel();
    const int threads = 256;
    conv_transpose3d<<<(size + threads - 1) / threads, threads>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), s, size);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Transposed convolution of oblong volumes (3-D) with an asymmetric kernel");
}
