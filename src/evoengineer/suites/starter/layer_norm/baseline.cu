#include <torch/extension.h>

constexpr int THREADS = 256;

// The sum of `value` over the threads of the block, known to all of them.
__device__ float block_sum(float value) {
    __shared__ float scratch[THREADS];
    __syncthreads();  // a previous sum may still be read
    scratch[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
        __syncthreads();
    }
    return scratch[0];
}

// One block per row: mean, variance, then the normalised row.
__global__ void layer_norm(const float* x, const float* weight, const float* bias, float* y, int columns, float eps) {
    x += static_cast<int64_t>(blockIdx.x) * columns;
    y += static_cast<int64_t>(blockIdx.x) * columns;

    float sum = 0.0f;
    for (int column = threadIdx.x; column < columns; column += THREADS) sum += x[column];
    float mean = block_sum(sum) / columns;

    float squares = 0.0f;
    for (int column = threadIdx.x; column < columns; column += THREADS) {
        float difference = x[column] - mean;
        squares += difference * difference;
    }
    float scale = rsqrtf(block_sum(squares) / columns + eps);

    for (int column = threadIdx.x; column < columns; column += THREADS) {
        y[column] = (x[column] - mean) * scale * weight[column] + bias[column];
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 tensor on the GPU");
    TORCH_CHECK(x.dim() == 2, "x must be a matrix");
    TORCH_CHECK(weight.numel() == x.size(1) && bias.numel() == x.size(1),
                "weight and bias must have one value per column");
    x = x.contiguous();
    weight = weight.contiguous();
    bias = bias.contiguous();
    auto y = torch::empty_like(x);
    layer_norm<<<x.size(0), THREADS>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), x.size(1), eps);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Layer normalisation over the last dimension");
}
