#include <torch/extension.h>

#include <cmath>

constexpr int THREADS = 256;

// One block per row: the maximum, the sum of the exponentials, then the differences.
__global__ void log_softmax(const float* x, float* y, int columns) {
    __shared__ float scratch[THREADS];
    int thread = threadIdx.x;
    x += static_cast<int64_t>(blockIdx.x) * columns;
    y += static_cast<int64_t>(blockIdx.x) * columns;

    float largest = -INFINITY;
    for (int column = thread; column < columns; column += THREADS) largest = fmaxf(largest, x[column]);
    scratch[thread] = largest;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (thread < half) scratch[thread] = fmaxf(scratch[thread], scratch[thread + half]);
        __syncthreads();
    }
    largest = scratch[0];
    __syncthreads();

    float sum = 0.0f;
    for (int column = thread; column < columns; column += THREADS) sum += expf(x[column] - largest);
    scratch[thread] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (thread < half) scratch[thread] += scratch[thread + half];
        __syncthreads();
    }
    float shift = largest + logf(scratch[0]);

    for (int column = thread; column < columns; column += THREADS) y[column] = x[column] - shift;
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 tensor on the GPU");
    TORCH_CHECK(x.dim() == 2, "x must be a matrix");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    log_softmax<<<x.size(0), THREADS>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Logarithm of the softmax over the rows of a matrix");
}
