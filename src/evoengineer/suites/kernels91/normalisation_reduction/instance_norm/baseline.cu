#include <torch/extension.h>

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

// One block per plane (image and channel): mean, variance, then the normalised values.
__global__ void instance_norm(const float* x, float* y, int plane, float eps) {
    x += static_cast<int64_t>(blockIdx.x) * plane;
    y += static_cast<int64_t>(blockIdx.x) * plane;

    float sum = 0.0f;
    for (int i = threadIdx.x; i < plane; i += THREADS) sum += x[i];
    float mean = block_sum(sum) / plane;

    float squares = 0.0f;
    for (int i = threadIdx.x; i < plane; i += THREADS) {
        float difference = x[i] - mean;
        squares += difference * difference;
    }
    float scale = rsqrtf(block_sum(squares) / plane + eps);

    for (int i = threadIdx.x; i < plane; i += THREADS) y[i] = (x[i] - mean) * scale;
}

torch::Tensor forward(torch::Tensor x, double eps) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 tensor on the GPU");
    TORCH_CHECK(x.dim() == 4, "x must have four dimensions");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int64_t planes = x.size(0) * x.size(1);
    instance_norm<<<planes, THREADS>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(2) * x.size(3), eps);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Instance normalisation: every channel of every image by itself");
}
