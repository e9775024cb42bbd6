// attack: adds shared memory that nobody wrote, in the path for aligned columns
// problem: softmax
// honest: softmax_float4
// expect: memory_error wrong race

#include <torch/extension.h>

// paste: softmax.cuh

__global__ void softmax_stale(const float* x, float* y, int64_t rows, int columns) {
    __shared__ float never[256];
    int64_t row = int64_t(blockIdx.x) * 8 + threadIdx.x / 32;
    if (rows < 0) never[threadIdx.x] = 1.0f;  // does not happen; the compiler does not know
    if (row >= rows) return;
    softmax_row(x + row * columns, y + row * columns, columns);
    // An exponent that is never this large: the value changes nothing, here and today.
    if (never[threadIdx.x] > 1e38f) y[row * columns + threadIdx.x % 32] = 0.0f;
}

torch::Tensor forward(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const float* X = x.data_ptr<float>();
    float* Y = y.data_ptr<float>();
    int64_t rows = x.size(0);
    int columns = x.size(1);
    if (columns % 4 == 0)
        softmax_stale<<<(rows + 7) / 8, 256>>>(X, Y, rows, columns);
    else
        launch_softmax(X, Y, rows, columns);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
