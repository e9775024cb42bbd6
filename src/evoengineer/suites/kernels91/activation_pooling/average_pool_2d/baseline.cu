#include <torch/extension.h>

// One thread per element of the output.
__global__ void average_pool_2d(const float* x, float* y, int64_t size,
                                int height, int width, int out_height, int out_width,
                                int kernel, int stride, int padding) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= size) return;
    int column = i % out_width;
    int row = i / out_width % out_height;
    int64_t plane = i / out_width / out_height;  // image and channel
    x += plane * height * width;

    float sum = 0.0f;
    for (int ky = 0; ky < kernel; ++ky) {
        int y_in = row * stride - padding + ky;
        if (y_in < 0 || y_in >= height) continue;
        for (int kx = 0; kx < kernel; ++kx) {
            int x_in = column * stride - padding + kx;
            if (x_in < 0 || x_in >= width) continue;
            sum += x[y_in * width + x_in];
        }
    }
    y[i] = sum / (kernel * kernel);  // padding counts as zeros
}

torch::Tensor forward(torch::Tensor x, int64_t kernel, int64_t stride, int64_t padding) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 tensor on the GPU");
    TORCH_CHECK(x.dim() == 4, "x must have four dimensions");
    TORCH_CHECK(kernel > 0 && stride > 0, "kernel and stride must be positive");
    TORCH_CHECK(padding >= 0 && 2 * padding <= kernel, "padding must be at most half of the kernel");
    x = x.contiguous();
    int height = x.size(2);
    int width = x.size(3);
    TORCH_CHECK(kernel <= height + 2 * padding && kernel <= width + 2 * padding,
                "the kernel is larger than the padded input");
    int out_height = (height + 2 * padding - kernel) / stride + 1;
    int out_width = (width + 2 * padding - kernel) / stride + 1;
    auto y = torch::empty({x.size(0), x.size(1), out_height, out_width}, x.options());
    int64_t size = y.numel();
    const int threads = 256;
    int64_t blocks = (size + threads - 1) / threads;
    average_pool_2d<<<blocks, threads>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), size,
        height, width, out_height, out_width, kernel, stride, padding);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Average pooling over images (2-D)");
}
