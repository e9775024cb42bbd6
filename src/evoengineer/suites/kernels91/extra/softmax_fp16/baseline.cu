#include <torch/extension.h>

#include <cuda_fp16.h>

#include <cmath>

constexpr int THREADS = 256;

// One block per row: the maximum, the sum of the exponentials, then the quotients, all in float32.
__global__ void softmax_fp16(const __half* x, __half* y, int columns) {
    __shared__ float scratch[THREADS];
    int thread = threadIdx.x;
    x += static_cast<int64_t>(blockIdx.x) * columns;
    y += static_cast<int64_t>(blockIdx.x) * columns;

    float largest = -INFINITY;
    for (int column = thread; column < columns; column += THREADS) largest = fmaxf(largest, __half2float(x[column]));
    scratch[thread] = largest;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (thread < half) scratch[thread] = fmaxf(scratch[thread], scratch[thread + half]);
        __syncthreads();
    }
    largest = scratch[0];
    __syncthreads();

    float sum = 0.0f;
    for (int column = thread; column < columns; column += THREADS) {
        sum += expf(__half2float(x[column]) - largest);
    }
    scratch[thread] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (thread < half) scratch[thread] += scratch[thread + half];
        __syncthreads();
    }
    sum = scratch[0];

    for (int column = thread; column < columns; column += THREADS) {
        y[column] = __float2half(expf(__half2float(x[column]) - largest) / sum);
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat16, "x must be a float16 tensor on the GPU");
    TORCH_CHECK(x.dim() == 2, "x must be a matrix");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    softmax_fp16<<<x.size(0), THREADS>>>(reinterpret_cast<const __half*>(x.data_ptr<at::Half>()),
                                         reinterpret_cast<__half*>(y.data_ptr<at::Half>()), x.size(1));
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Softmax over the rows of a matrix in half precision");
}
