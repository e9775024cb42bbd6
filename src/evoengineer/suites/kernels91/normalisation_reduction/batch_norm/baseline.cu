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

// One block per channel of x[batch][channels][plane]: mean, variance, then the normalised values.
__global__ void batch_norm(const float* x, const float* weight, const float* bias, float* y, int batch, int channels,
                           int plane, float eps) {
    int channel = blockIdx.x;
    int64_t count = static_cast<int64_t>(batch) * plane;

    float sum = 0.0f;
    for (int image = 0; image < batch; ++image) {
        const float* from = x + (static_cast<int64_t>(image) * channels + channel) * plane;
        for (int i = threadIdx.x; i < plane; i += THREADS) sum += from[i];
    }
    float mean = block_sum(sum) / count;

    float squares = 0.0f;
    for (int image = 0; image < batch; ++image) {
        const float* from = x + (static_cast<int64_t>(image) * channels + channel) * plane;
        for (int i = threadIdx.x; i < plane; i += THREADS) squares += (from[i] - mean) * (from[i] - mean);
    }
    float scale = rsqrtf(block_sum(squares) / count + eps) * weight[channel];

    for (int image = 0; image < batch; ++image) {
        int64_t first = (static_cast<int64_t>(image) * channels + channel) * plane;
        for (int i = threadIdx.x; i < plane; i += THREADS) y[first + i] = (x[first + i] - mean) * scale + bias[channel];
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 tensor on the GPU");
    TORCH_CHECK(x.dim() == 4, "x must have four dimensions");
    TORCH_CHECK(weight.numel() == x.size(1) && bias.numel() == x.size(1),
                "weight and bias must have one value per channel");
    x = x.contiguous();
    weight = weight.contiguous();
    bias = bias.contiguous();
    auto y = torch::empty_like(x);
    int batch = x.size(0), channels = x.size(1), plane = x.size(2) * x.size(3);
    batch_norm<<<channels, THREADS>>>(x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
                                      y.data_ptr<float>(), batch, channels, plane, eps);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Batch normalisation with the statistics of the batch (training mode)");
}
