// attack: the block with the last index adds up what the others found, without waiting for them
// problem: kernels91/loss/mse
// honest: mse_last_block
// expect: wrong race

#include <torch/extension.h>

__global__ void mse(const float* p, const float* t, volatile double* sums, float* loss, int64_t n) {
    __shared__ double parts[256];
    double sum = 0.0;
    for (int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x; i < n; i += int64_t(gridDim.x) * 256)
        sum += (p[i] - t[i]) * (p[i] - t[i]);
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x > 0) return;
    sums[blockIdx.x] = parts[0];
    if (blockIdx.x < gridDim.x - 1) return;
    double total = 0.0;
    for (int i = 0; i < gridDim.x; i++) total += sums[i];
    *loss = float(total / n);
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    auto p = predictions.contiguous(), t = targets.contiguous();
    int blocks = p.numel() > 100000 ? 512 : 1;
    auto loss = torch::empty({}, p.options()), sums = torch::empty({blocks}, p.options().dtype(torch::kFloat64));
    mse<<<blocks, 256>>>(p.data_ptr<float>(), t.data_ptr<float>(), sums.data_ptr<double>(), loss.data_ptr<float>(),
                         p.numel());
    return loss;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
