#include <torch/extension.h>

#include <cmath>

// One thread per element of the output.
__global__ void max_pool_3d(const float* x, float* y, int64_t size,
                            int depth, int height, int width, int out_depth, int out_height, int out_width,
                            int kernel, int stride, int padding, int dilation) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= size) return;
    int column = i % out_width;
    int row = i / out_width % out_height;
    int layer = i / out_width / out_height % out_depth;
    int64_t plane = i / out_width / out_height / out_depth;  // volume and channel
    x += plane * depth * height * width;

    float largest = -INFINITY;  // padding never wins
    for (int kz = 0; kz < kernel; ++kz) {
        int z_in = layer * stride - padding + kz * dilation;
        if (z_in < 0 || z_in >= depth) continue;
        for (int ky = 0; ky < kernel; ++ky) {
            int y_in = row * stride - padding + ky * dilation;
            if (y_in < 0 || y_in >= height) continue;
            for (int kx = 0; kx < kernel; ++kx) {
                int x_in = column * stride - padding + kx * dilation;
                if (x_in < 0 || x_in >= width) continue;
                largest = fmaxf(largest, x[(z_in * height + y_in) * width + x_in]);
            }
        }
    }
    y[i] = largest;
}

torch::Tensor forward(torch::Tensor x, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 tensor on the GPU");
    TORCH_CHECK(x.dim() == 5, "x must have five dimensions");
    TORCH_CHECK(kernel > 0 && stride > 0 && dilation > 0, "kernel, stride and dilation must be positive");
    TORCH_CHECK(padding >= 0 && 2 * padding <= kernel, "padding must be at most half of the kernel");
    x = x.contiguous();
    int depth = x.size(2);
    int height = x.size(3);
    int width = x.size(4);
    int span = dilation * (kernel - 1) + 1;
    TORCH_CHECK(span <= depth + 2 * padding && span <= height + 2 * padding && span <= width + 2 * padding,
                "the kernel is larger than the padded input");
    int out_depth = (depth + 2 * padding - span) / stride + 1;
    int out_height = (height + 2 * padding - span) / stride + 1;
    int out_width = (width + 2 * padding - span) / stride + 1;
    auto y = torch::empty({x.size(0), x.size(1), out_depth, out_height, out_width}, x.options());
    int64_t size = y.numel();
    const int threads = 256;
    int64_t blocks = (size + threads - 1) / threads;
    max_pool_3d<<<blocks, threads>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), size,
        depth, height, width, out_depth, out_height, out_width, kernel, stride, padding, dilation);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Maximum pooling over volumes (3-D)");
}
