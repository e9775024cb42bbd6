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

// One block per sample: mean, variance, then the normalised values.
__global__ void layer_norm(const float* x, const float* weight, const float* bias, float* y, int64_t count,
                           float eps) {
    x += blockIdx.x * count;
    y += blockIdx.x * count;

    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < count; i += THREADS) sum += x[i];
    float mean = block_sum(sum) / count;

    float squares = 0.0f;
    for (int64_t i = threadIdx.x; i < count; i += THREADS) {
        float difference = x[i] - mean;
        squares += difference * difference;
    }
    float scale = rsqrtf(block_sum(squares) / count + eps);

    for (int64_t i = threadIdx.x; i < count; i += THREADS) y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 tensor on the GPU");
    TORCH_CHECK(x.dim() >= 2, "x must have a first dimension and others");
    int64_t samples = x.size(0);
    int64_t count = x.numel() / samples;
    TORCH_CHECK(weight.numel() == count && bias.numel() == count, "weight and bias must have the shape of a sample");
    x = x.contiguous();
    weight = weight.contiguous();
    bias = bias.contiguous();
    auto y = torch::empty_like(x);
    layer_norm<<<samples, THREADS>>>(x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
                                     y.data_ptr<float>(), count, eps);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Layer normalisation over all but the first dimension");
}
