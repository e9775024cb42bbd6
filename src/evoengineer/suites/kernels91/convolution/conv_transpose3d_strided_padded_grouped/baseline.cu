#include <torch/extension.h>

struct Shape {
    int channels, depth, height, width;  // of an input volume
    int filters, kernel_depth, kernel_height, kernel_width;
    int out_depth, out_height, out_width;
    int group_channels, group_filters;  // channels and filters of one group
    int padding_depth, padding_height, padding_width;
    int stride;
};

// One thread per element of the output [batch][filters][out_depth][out_height][out_width].
// Element n of the input reaches element n × stride - padding + k of the output through tap k:
// each output gathers what reaches it.
__global__ void conv_transpose3d(const float* x, const float* weight, float* y, Shape s, int64_t size) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= size) return;
    int column = i % s.out_width;
    int row = i / s.out_width % s.out_height;
    int slice = i / s.out_width / s.out_height % s.out_depth;
    int filter = i / s.out_width / s.out_height / s.out_depth % s.filters;
    int64_t volume = i / s.out_width / s.out_height / s.out_depth / s.filters;
    int first_channel = filter / s.group_filters * s.group_channels;

    int64_t channel_size = s.depth * s.height * s.width;
    int taps = s.kernel_depth * s.kernel_height * s.kernel_width;
    x += (volume * s.channels + first_channel) * channel_size;
    weight += (first_channel * s.group_filters + filter % s.group_filters) * taps;
    float sum = 0.0f;
    for (int kz = 0; kz < s.kernel_depth; ++kz) {
        int z_from = slice + s.padding_depth - kz;
        if (z_from < 0 || z_from % s.stride != 0) continue;
        int z_in = z_from / s.stride;
        if (z_in >= s.depth) continue;
        for (int ky = 0; ky < s.kernel_height; ++ky) {
            int y_from = row + s.padding_height - ky;
            if (y_from < 0 || y_from % s.stride != 0) continue;
            int y_in = y_from / s.stride;
            if (y_in >= s.height) continue;
            for (int kx = 0; kx < s.kernel_width; ++kx) {
                int x_from = column + s.padding_width - kx;
                if (x_from < 0 || x_from % s.stride != 0) continue;
                int x_in = x_from / s.stride;
                if (x_in >= s.width) continue;
                const float* from = x + (z_in * s.height + y_in) * s.width + x_in;
                const float* tap = weight + (kz * s.kernel_height + ky) * s.kernel_width + kx;
                for (int channel = 0; channel < s.group_channels; ++channel) {
                    sum += from[channel * channel_size] * tap[channel * s.group_filters * taps];
                }
            }
        }
    }
    y[i] = sum;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, int64_t stride, int64_t padding_depth,
                      int64_t padding_height, int64_t padding_width, int64_t output_padding, int64_t groups) {
    TORCH_CHECK(x.is_cuda() && weight.is_cuda(), "x and weight must be on the GPU");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32 && weight.scalar_type() == torch::kFloat32,
                "x and weight must be float32");
    TORCH_CHECK(x.dim() == 5 && weight.dim() == 5, "x and weight must have five dimensions");
    TORCH_CHECK(x.size(1) == weight.size(0), "x and weight must have the same number of channels");
    TORCH_CHECK(groups > 0 && x.size(1) % groups == 0, "groups must divide the number of channels");
    TORCH_CHECK(stride > 0, "stride must be positive");
    TORCH_CHECK(padding_depth >= 0 && padding_height >= 0 && padding_width >= 0 && output_padding >= 0,
                "padding and output_padding must not be negative");
    x = x.contiguous();
    weight = weight.contiguous();
    Shape s;
    s.channels = x.size(1);
    s.depth = x.size(2);
    s.height = x.size(3);
    s.width = x.size(4);
    s.group_channels = s.channels / groups;
    s.group_filters = weight.size(1);
    s.filters = s.group_filters * groups;
    s.kernel_depth = weight.size(2);
    s.kernel_height = weight.size(3);
    s.kernel_width = weight.size(4);
    s.stride = stride;
    s.padding_depth = padding_depth;
    s.padding_height = padding_height;
    s.padding_width = padding_width;
    s.out_depth = (s.depth - 1) * s.stride - 2 * s.padding_depth + s.kernel_depth + output_padding;
    s.out_height = (s.height - 1) * s.stride - 2 * s.padding_height + s.kernel_height + output_padding;
    s.out_width = (s.width - 1) * s.stride - 2 * s.padding_width + s.kernel_width + output_padding;
    TORCH_CHECK(s.out_depth > 0 && s.out_height > 0 && s.out_width > 0, "the padding leaves no output");
    auto y = torch::empty({x.size(0), s.filters, s.out_depth, s.out_height, s.out_width}, x.options());
    int64_t size = y.numel();
    const int threads = 256;
    conv_transpose3d<<<(size + threads - 1) / threads, threads>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), s, size);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Transposed convolution of volumes (3-D) with stride, padding and groups");
}
