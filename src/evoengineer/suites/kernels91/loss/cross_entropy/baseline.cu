#include <torch/extension.h>

#include <cmath>

constexpr int THREADS = 256;

__device__ float block_max(float value) {
    __shared__ float scratch[THREADS];
    scratch[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) scratch[threadIdx.x] = fmaxf(scratch[threadIdx.x], scratch[threadIdx.x + half]);
        __syncthreads();
    }
    return scratch[0];
}

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

// One block per row: the logarithm of the sum of the exponentials less the target's logit.
__global__ void row_losses(const float* logits, const int64_t* targets, float* losses, int classes) {
    logits += static_cast<int64_t>(blockIdx.x) * classes;

    float largest = -INFINITY;
    for (int i = threadIdx.x; i < classes; i += THREADS) largest = fmaxf(largest, logits[i]);
    largest = block_max(largest);

    float sum = 0.0f;
    for (int i = threadIdx.x; i < classes; i += THREADS) sum += expf(logits[i] - largest);
    sum = block_sum(sum);

    if (threadIdx.x == 0) losses[blockIdx.x] = logf(sum) + largest - logits[targets[blockIdx.x]];
}

// A single block averages the losses of the rows.
__global__ void mean(const float* losses, float* loss, int rows) {
    float sum = 0.0f;
    for (int row = threadIdx.x; row < rows; row += THREADS) sum += losses[row];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *loss = sum / rows;
}

torch::Tensor forward(torch::Tensor logits, torch::Tensor targets) {
    TORCH_CHECK(logits.is_cuda() && logits.scalar_type() == torch::kFloat32,
                "logits must be a float32 tensor on the GPU");
    TORCH_CHECK(targets.is_cuda() && targets.scalar_type() == torch::kInt64,
                "targets must be an int64 tensor on the GPU");
    TORCH_CHECK(logits.dim() == 2 && targets.dim() == 1 && targets.size(0) == logits.size(0),
                "targets must have one class per row of logits");
    logits = logits.contiguous();
    targets = targets.contiguous();
    int rows = logits.size(0), classes = logits.size(1);
    auto losses = torch::empty({rows}, logits.options());
    auto loss = torch::empty({}, logits.options());
    row_losses<<<rows, THREADS>>>(
        logits.data_ptr<float>(), targets.data_ptr<int64_t>(), losses.data_ptr<float>(), classes);
    mean<<<1, THREADS>>>(losses.data_ptr<float>(), loss.data_ptr<float>(), rows);
    return loss;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Cross entropy of logits and class indices, mean over the rows");
}
