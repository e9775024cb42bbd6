#include <torch/extension.h>

#include <cmath>

constexpr int THREADS = 256;
constexpr int MOST_BLOCKS = 1024;

// The sum of `value` over the threads of the block, known to all of them.
__device__ float block_sum(float value) {
    __shared__ float scratch[THREADS];
    scratch[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
        __syncthreads();
    }
    return scratch[0];
}

// Every block sums the losses of its share of the elements.
__global__ void divergence(const float* log_predictions, const float* targets, float* partial, int64_t size) {
    float sum = 0.0f;
    int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x; i < size; i += step) {
        float target = targets[i];
        if (target > 0.0f) sum += target * (logf(target) - log_predictions[i]);  // 0 log 0 = 0
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// A single block adds the partial sums up and divides.
__global__ void finish(const float* partial, float* loss, int count, float divisor) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < count; i += THREADS) sum += partial[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *loss = sum / divisor;
}

torch::Tensor forward(torch::Tensor log_predictions, torch::Tensor targets) {
    TORCH_CHECK(log_predictions.is_cuda() && targets.is_cuda(), "log_predictions and targets must be on the GPU");
    TORCH_CHECK(log_predictions.scalar_type() == torch::kFloat32 && targets.scalar_type() == torch::kFloat32,
                "log_predictions and targets must be float32");
    TORCH_CHECK(log_predictions.sizes() == targets.sizes(), "log_predictions and targets must have the same shape");
    TORCH_CHECK(targets.dim() == 2, "log_predictions and targets must be matrices");
    log_predictions = log_predictions.contiguous();
    targets = targets.contiguous();
    int64_t size = log_predictions.numel();
    int64_t needed = (size + THREADS - 1) / THREADS;
    int blocks = needed < MOST_BLOCKS ? needed : MOST_BLOCKS;
    auto partial = torch::empty({blocks}, log_predictions.options());
    auto loss = torch::empty({}, log_predictions.options());
    divergence<<<blocks, THREADS>>>(
        log_predictions.data_ptr<float>(), targets.data_ptr<float>(), partial.data_ptr<float>(), size);
    finish<<<1, THREADS>>>(partial.data_ptr<float>(), loss.data_ptr<float>(), blocks, log_predictions.size(0));
    return loss;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Kullback-Leibler divergence of predictions from targets, mean over the rows");
}
