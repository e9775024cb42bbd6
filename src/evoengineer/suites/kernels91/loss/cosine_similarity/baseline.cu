#include <torch/extension.h>

#include <cmath>

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

// One block per row.
__global__ void row_losses(const float* predictions, const float* targets, float* losses, int columns, float eps) {
    int64_t first = static_cast<int64_t>(blockIdx.x) * columns;
    float product = 0.0f;
    float prediction_squares = 0.0f;
    float target_squares = 0.0f;
    for (int column = threadIdx.x; column < columns; column += THREADS) {
        float prediction = predictions[first + column];
        float target = targets[first + column];
        product += prediction * target;
        prediction_squares += prediction * prediction;
        target_squares += target * target;
    }
    product = block_sum(product);
    float prediction_length = fmaxf(sqrtf(block_sum(prediction_squares)), eps);
    float target_length = fmaxf(sqrtf(block_sum(target_squares)), eps);
    if (threadIdx.x == 0) losses[blockIdx.x] = 1.0f - product / (prediction_length * target_length);
}

// A single block averages the losses of the rows.
__global__ void mean(const float* losses, float* loss, int rows) {
    float sum = 0.0f;
    for (int row = threadIdx.x; row < rows; row += THREADS) sum += losses[row];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *loss = sum / rows;
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets, double eps) {
    TORCH_CHECK(predictions.is_cuda() && targets.is_cuda(), "predictions and targets must be on the GPU");
    TORCH_CHECK(predictions.scalar_type() == torch::kFloat32 && targets.scalar_type() == torch::kFloat32,
                "predictions and targets must be float32");
    TORCH_CHECK(predictions.dim() == 2 && predictions.sizes() == targets.sizes(),
                "predictions and targets must be matrices of the same shape");
    predictions = predictions.contiguous();
    targets = targets.contiguous();
    int rows = predictions.size(0), columns = predictions.size(1);
    auto losses = torch::empty({rows}, predictions.options());
    auto loss = torch::empty({}, predictions.options());
    row_losses<<<rows, THREADS>>>(
        predictions.data_ptr<float>(), targets.data_ptr<float>(), losses.data_ptr<float>(), columns, eps);
    mean<<<1, THREADS>>>(losses.data_ptr<float>(), loss.data_ptr<float>(), rows);
    return loss;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Cosine similarity loss: one less the cosine of two rows, mean over the rows");
}
