#include <torch/extension.h>

struct Shape {
    int channels, depth, height, width;  // of an input volume
    int filters, kernel_depth, kernel_height, kernel_width;
    int out_depth, out_height, out_width;
    int stride_depth, stride_height, stride_width;
    int padding_depth, padding_height, padding_width;
};

// One thread per element of the output [batch][filters][out_depth][out_height][out_width].
__global__ void conv3d(const float* x, const float* weight, float* y, Shape s, int64_t size) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= size) return;
    int column = i % s.out_width;
    int row = i / s.out_width % s.out_height;
    int slice = i / s.out_width / s.out_height % s.out_depth;
    int filter = i / s.out_width / s.out_height / s.out_depth % s.filters;
    int64_t volume = i / s.out_width / s.out_height / s.out_depth / s.filters;

    float sum = 0.0f;
    for (int channel = 0; channel < s.channels; ++channel) {
        const float* block = x + (volume * s.channels + channel) * s.depth * s.height * s.width;
        const float* taps =
            weight + (filter * s.channels + channel) * s.kernel_depth * s.kernel_height * s.kernel_width;
        for (int kz = 0; kz < s.kernel_depth; ++kz) {
            int z_in = slice * s.stride_depth - s.padding_depth + kz;
            if (z_in < 0 || z_in >= s.depth) continue;
            for (int ky = 0; ky < s.kernel_height; ++ky) {
                int y_in = row * s.stride_height - s.padding_height + ky;
                if (y_in < 0 || y_in >= s.height) continue;
                for (int kx = 0; kx < s.kernel_width; ++kx) {
                    int x_in = column * s.stride_width - s.padding_width + kx;
                    if (x_in < 0 || x_in >= s.width) continue;
                    sum += block[(z_in * s.height + y_in) * s.width + x_in] *
                           taps[(kz * s.kernel_height + ky) * s.kernel_width + kx];
                }
            }
        }
    }
    y[i] = sum;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, int64_t stride_depth, int64_t stride_height,
                      int64_t stride_width, int64_t padding_depth, int64_t padding_height, int64_t padding_width) {
    TORCH_CHECK(x.is_cuda() && weight.is_cuda(), "x and weight must be on the GPU");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32 && weight.scalar_type() == torch::kFloat32,
                "x and weight must be float32");
    TORCH_CHECK(x.dim() == 5 && weight.dim() == 5, "x and weight must have five dimensions");
    TORCH_CHECK(x.size(1) == weight.size(1), "x and weight must have the same number of channels");
    TORCH_CHECK(stride_depth > 0 && stride_height > 0 && stride_width > 0, "stride must be positive");
    TORCH_CHECK(padding_depth >= 0 && padding_height >= 0 && padding_width >= 0, "padding must not be negative");
    x = x.contiguous();
    weight = weight.contiguous();
    Shape s;
    s.channels = x.size(1);
    s.depth = x.size(2);
    s.height = x.size(3);
    s.width = x.size(4);
    s.filters = weight.size(0);
    s.kernel_depth = weight.size(2);
    s.kernel_height = weight.size(3);
    s.kernel_width = weight.size(4);
    s.stride_depth = stride_depth;
    s.stride_height = stride_height;
    s.stride_width = stride_width;
    s.padding_depth = padding_depth;
    s.padding_height = padding_height;
    s.padding_width = padding_width;
    TORCH_CHECK(s.depth + 2 * s.padding_depth >= s.kernel_depth &&
                s.height + 2 * s.padding_height >= s.kernel_height &&
                s.width + 2 * s.padding_width >= s.kernel_width,
                "the kernel does not fit into the input");
    s.out_depth = (s.depth + 2 * s.padding_depth - s.kernel_depth) / s.stride_depth + 1;
    s.out_height = (s.height + 2 * s.padding_height - s.kernel_height) / s.stride_height + 1;
    s.out_width = (s.width + 2 * s.padding_width - s.kernel_width) / s.stride_width + 1;
    auto y = torch::empty({x.size(0), s.filters, s.out_depth, s.out_height, s.out_width}, x.options());
    int64_t size = y.numel();
    const int threads = 256;
    conv3d<<<(size + threads - 1) / threads, threads>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), s, size);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Convolution of oblong volumes (3-D) with an asymmetric kernel");
}
