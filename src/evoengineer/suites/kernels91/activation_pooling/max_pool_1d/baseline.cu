#include <torch/extension.h>

#include <cmath>

// One thread per element of the output.
__global__ void max_pool_1d(const float* x, float* y, int64_t size, int length, int out_length,
                            int kernel, int stride, int padding, int dilation) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= size) return;
    int position = i % out_length;
    int64_t plane = i / out_length;  // sequence and channel
    x += plane * length;

    float largest = -INFINITY;  // padding never wins
    for (int k = 0; k < kernel; ++k) {
        int at = position * stride - padding + k * dilation;
        if (at < 0 || at >= length) continue;
        largest = fmaxf(largest, x[at]);
    }
    y[i] = largest;
}

torch::Tensor forward(torch::Tensor x, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 tensor on the GPU");
    TORCH_CHECK(x.dim() == 3, "x must have three dimensions");
    TORCH_CHECK(kernel > 0 && stride > 0 && dilation > 0, "kernel, stride and dilation must be positive");
    TORCH_CHECK(padding >= 0 && 2 * padding <= kernel, "padding must be at most half of the kernel");
    x = x.contiguous();
    int length = x.size(2);
    int span = dilation * (kernel - 1) + 1;
    TORCH_CHECK(span <= length + 2 * padding,
                "the kernel is larger than the padded input");
    int out_length = (length + 2 * padding - span) / stride + 1;
    auto y = torch::empty({x.size(0), x.size(1), out_length}, x.options());
    int64_t size = y.numel();
    const int threads = 256;
    int64_t blocks = (size + threads - 1) / threads;
    max_pool_1d<<<blocks, threads>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), size, length, out_length, kernel, stride, padding, dilation);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Maximum pooling over sequences (1-D)");
}
