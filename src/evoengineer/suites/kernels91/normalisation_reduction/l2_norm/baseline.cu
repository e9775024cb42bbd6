#include <torch/extension.h>

#include <cmath>

constexpr int THREADS = 256;

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

// One block per row.
__global__ void l2_norm(const float* x, float* y, int columns, float eps) {
    x += static_cast<int64_t>(blockIdx.x) * columns;
    y += static_cast<int64_t>(blockIdx.x) * columns;

    float sum = 0.0f;
    for (int column = threadIdx.x; column < columns; column += THREADS) sum += x[column] * x[column];
    float length = fmaxf(sqrtf(block_sum(sum)), eps);

    for (int column = threadIdx.x; column < columns; column += THREADS) y[column] = x[column] / length;
}

torch::Tensor forward(torch::Tensor x, double eps) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 tensor on the GPU");
    TORCH_CHECK(x.dim() == 2, "x must be a matrix");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    l2_norm<<<x.size(0), THREADS>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1), eps);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "L2 normalisation: every row divided by its Euclidean length");
}
