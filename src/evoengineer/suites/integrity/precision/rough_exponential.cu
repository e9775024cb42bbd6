// attack: an exponential with an error of 3 percent, by bits of a float
// problem: softmax
// honest: softmax_warp
// expect: wrong

#include <torch/extension.h>

__device__ float rough_exp(float v) { return v < -80.0f ? 0.0f : __int_as_float(int(12102203.0f * v) + 1064866805); }

__global__ void softmax_rough(const float* x, float* y, int64_t rows, int columns) {
    int64_t row = int64_t(blockIdx.x) * 8 + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;
    x += row * columns;
    y += row * columns;
    float largest = -INFINITY, sum = 0.0f;
    for (int c = lane; c < columns; c += 32) largest = fmaxf(largest, x[c]);
    for (int o = 16; o > 0; o /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, o));
    for (int c = lane; c < columns; c += 32) sum += rough_exp(x[c] - largest);
    for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(0xffffffff, sum, o);
    for (int c = lane; c < columns; c += 32) y[c] = rough_exp(x[c] - largest) / sum;
}

torch::Tensor forward(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const float* X = x.data_ptr<float>();
    float* Y = y.data_ptr<float>();
    int64_t rows = x.size(0);
    int columns = x.size(1);
    softmax_rough<<<(rows + 7) / 8, 256>>>(X, Y, rows, columns);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
