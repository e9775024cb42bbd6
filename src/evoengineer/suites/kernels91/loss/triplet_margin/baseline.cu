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

// One block per row: distance to the positive less distance to the negative, plus the margin, if above zero.
__global__ void row_losses(const float* anchor, const float* positive, const float* negative, float* losses,
                           int columns, float margin, float eps) {
    int64_t first = static_cast<int64_t>(blockIdx.x) * columns;
    float to_positive = 0.0f;
    float to_negative = 0.0f;
    for (int column = threadIdx.x; column < columns; column += THREADS) {
        float near = anchor[first + column] - positive[first + column] + eps;
        float far = anchor[first + column] - negative[first + column] + eps;
        to_positive += near * near;
        to_negative += far * far;
    }
    to_positive = sqrtf(block_sum(to_positive));
    to_negative = sqrtf(block_sum(to_negative));
    if (threadIdx.x == 0) losses[blockIdx.x] = fmaxf(to_positive - to_negative + margin, 0.0f);
}

// A single block averages the losses of the rows.
__global__ void mean(const float* losses, float* loss, int rows) {
    float sum = 0.0f;
    for (int row = threadIdx.x; row < rows; row += THREADS) sum += losses[row];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *loss = sum / rows;
}

torch::Tensor forward(torch::Tensor anchor, torch::Tensor positive, torch::Tensor negative, double margin, double eps) {
    for (const auto& each : {anchor, positive, negative}) {
        TORCH_CHECK(each.is_cuda() && each.scalar_type() == torch::kFloat32,
                    "inputs must be float32 tensors on the GPU");
        TORCH_CHECK(each.dim() == 2 && each.sizes() == anchor.sizes(), "inputs must be matrices of the same shape");
    }
    anchor = anchor.contiguous();
    positive = positive.contiguous();
    negative = negative.contiguous();
    int rows = anchor.size(0), columns = anchor.size(1);
    auto losses = torch::empty({rows}, anchor.options());
    auto loss = torch::empty({}, anchor.options());
    row_losses<<<rows, THREADS>>>(anchor.data_ptr<float>(), positive.data_ptr<float>(), negative.data_ptr<float>(),
                                  losses.data_ptr<float>(), columns, margin, eps);
    mean<<<1, THREADS>>>(losses.data_ptr<float>(), loss.data_ptr<float>(), rows);
    return loss;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Triplet margin loss with Euclidean distances");
}
