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
__global__ void huber(const float* predictions, const float* targets, float* partial, int64_t size, float delta) {
    float sum = 0.0f;
    int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x; i < size; i += step) {
        float error = fabsf(predictions[i] - targets[i]);
        sum += error <= delta ? 0.5f * error * error : delta * (error - 0.5f * delta);
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

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets, double delta) {
    TORCH_CHECK(predictions.is_cuda() && targets.is_cuda(), "predictions and targets must be on the GPU");
    TORCH_CHECK(predictions.scalar_type() == torch::kFloat32 && targets.scalar_type() == torch::kFloat32,
                "predictions and targets must be float32");
    TORCH_CHECK(predictions.sizes() == targets.sizes(), "predictions and targets must have the same shape");
    predictions = predictions.contiguous();
    targets = targets.contiguous();
    int64_t size = predictions.numel();
    int64_t needed = (size + THREADS - 1) / THREADS;
    int blocks = needed < MOST_BLOCKS ? needed : MOST_BLOCKS;
    auto partial = torch::empty({blocks}, predictions.options());
    auto loss = torch::empty({}, predictions.options());
    huber<<<blocks, THREADS>>>(
        predictions.data_ptr<float>(), targets.data_ptr<float>(), partial.data_ptr<float>(), size, delta);
    finish<<<1, THREADS>>>(partial.data_ptr<float>(), loss.data_ptr<float>(), blocks, size);
    return loss;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Huber loss: squared near zero, linear beyond delta");
}
