// Softmax over rows, one warp per row: the row stays in registers, reductions are shuffles, no barriers.
#include <torch/extension.h>

#include <cmath>

constexpr int WARP = 32, ROWS_PER_BLOCK = 8, MOST_PER_LANE = 4;  // rows of up to 128 elements stay in registers

__device__ float warp_max(float value) {
    for (int step = WARP / 2; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, step));
    return value;
}

__device__ float warp_sum(float value) {
    for (int step = WARP / 2; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
    return value;
}

__global__ void softmax_short(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
    int row = blockIdx.x * ROWS_PER_BLOCK + threadIdx.y, lane = threadIdx.x;
    if (row >= rows) return;
    x += static_cast<int64_t>(row) * columns;
    y += static_cast<int64_t>(row) * columns;
    float values[MOST_PER_LANE], largest = -INFINITY, sum = 0.0f;
#pragma unroll
    for (int k = 0; k < MOST_PER_LANE; k++) {
        int column = k * WARP + lane;
        values[k] = column < columns ? x[column] : -INFINITY;
        largest = fmaxf(largest, values[k]);
    }
    largest = warp_max(largest);
#pragma unroll
    for (int k = 0; k < MOST_PER_LANE; k++) {
        values[k] = expf(values[k] - largest);
        sum += values[k];
    }
    sum = warp_sum(sum);
#pragma unroll
    for (int k = 0; k < MOST_PER_LANE; k++) {
        int column = k * WARP + lane;
        if (column < columns) y[column] = values[k] / sum;
    }
}

__global__ void softmax_long(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
    int row = blockIdx.x * ROWS_PER_BLOCK + threadIdx.y, lane = threadIdx.x;
    if (row >= rows) return;
    x += static_cast<int64_t>(row) * columns;
    y += static_cast<int64_t>(row) * columns;
    float largest = -INFINITY, sum = 0.0f;
    for (int column = lane; column < columns; column += WARP) largest = fmaxf(largest, x[column]);
    largest = warp_max(largest);
    for (int column = lane; column < columns; column += WARP) sum += expf(x[column] - largest);
    sum = warp_sum(sum);
    for (int column = lane; column < columns; column += WARP) y[column] = expf(x[column] - largest) / sum;
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32 && x.dim() == 2, "x must be a float32 matrix on the GPU");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int rows = x.size(0), columns = x.size(1);
    dim3 threads(WARP, ROWS_PER_BLOCK);
    int blocks = (rows + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK;
    auto kernel = columns <= WARP * MOST_PER_LANE ? softmax_short : softmax_long;
    kernel<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, columns);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Softmax over the rows of a matrix");
}
