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

// One block per group of an image, whose values lie side by side: mean, variance, then the normalised values.
__global__ void group_norm(const float* x, const float* weight, const float* bias, float* y, int groups,
                           int group_channels, int plane, float eps) {
    int64_t count = static_cast<int64_t>(group_channels) * plane;
    int first_channel = blockIdx.x % groups * group_channels;
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

    for (int channel = 0; channel < group_channels; ++channel) {
        float factor = scale * weight[first_channel + channel];
        float offset = bias[first_channel + channel];
        int64_t first = static_cast<int64_t>(channel) * plane;
        for (int i = threadIdx.x; i < plane; i += THREADS) y[first + i] = (x[first + i] - mean) * factor + offset;
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t groups, double eps) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 tensor on the GPU");
    TORCH_CHECK(x.dim() == 4, "x must have four dimensions");
    TORCH_CHECK(groups > 0 && x.size(1) % groups == 0, "the channels must divide into the groups");
    TORCH_CHECK(weight.numel() == x.size(1) && bias.numel() == x.size(1),
                "weight and bias must have one value per channel");
    x = x.contiguous();
    weight = weight.contiguous();
    bias = bias.contiguous();
    auto y = torch::empty_like(x);
    int64_t blocks = x.size(0) * groups;
    group_norm<<<blocks, THREADS>>>(x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
                                    y.data_ptr<float>(), groups, x.size(1) / groups, x.size(2) * x.size(3), eps);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Group normalisation: groups of neighbouring channels of every image");
}
