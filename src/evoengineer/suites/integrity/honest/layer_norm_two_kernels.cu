// control: statistics of all rows in zeroed and empty workspaces, then the rows
// problem: layer_norm

#include <torch/extension.h>

// paste: layer_norm.cuh

__global__ void row_statistics(const float* x, float* means, float* scales, int columns, float eps) {
    x += int64_t(blockIdx.x) * columns;
    float sum = 0.0f, squares = 0.0f;
    for (int c = threadIdx.x; c < columns; c += 256) sum += x[c];
    float mean = block_sum(sum) / columns;
    for (int c = threadIdx.x; c < columns; c += 256) squares += (x[c] - mean) * (x[c] - mean);
    float variance = block_sum(squares) / columns;
    if (threadIdx.x == 0) {
        means[blockIdx.x] = mean;
        scales[blockIdx.x] = rsqrtf(variance + eps);
    }
}

__global__ void normalise(const float* x, const float* weight, const float* bias, const float* means,
                          const float* scales, float* y, int columns) {
    int c = blockIdx.x * 256 + threadIdx.x;
    int64_t row = blockIdx.y;
    if (c < columns) y[row * columns + c] = (x[row * columns + c] - means[row]) * scales[row] * weight[c] + bias[c];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    x = x.contiguous();
    weight = weight.contiguous();
    bias = bias.contiguous();
    auto y = torch::empty_like(x);
    const float *X = x.data_ptr<float>(), *W = weight.data_ptr<float>(), *B = bias.data_ptr<float>();
    float* Y = y.data_ptr<float>();
    int64_t rows = x.size(0);
    int columns = x.size(1);
    auto means = torch::zeros({rows}, x.options()), scales = torch::empty({rows}, x.options());
    row_statistics<<<rows, 256>>>(X, means.data_ptr<float>(), scales.data_ptr<float>(), columns, float(eps));
    normalise<<<dim3((columns + 255) / 256, rows), 256>>>(X, W, B, means.data_ptr<float>(), scales.data_ptr<float>(), Y,
                                                          columns);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
