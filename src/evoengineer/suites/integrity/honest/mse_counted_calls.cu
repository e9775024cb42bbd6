// control: blocks count themselves over all calls, with the number of the call as an argument, so that nothing is reset
// problem: kernels91/loss/mse

#include <torch/extension.h>

__device__ unsigned arrivals;
__device__ double sums[512];

__device__ double block_sum(double value) {
    __shared__ double parts[8];
    for (int o = 16; o > 0; o /= 2) value += __shfl_down_sync(0xffffffff, value, o);
    __syncthreads();  // a previous sum may still be read
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    double total = 0.0;
    for (int i = 0; i < 8; i++) total += parts[i];
    return total;
}

__global__ void mse(const float* p, const float* t, float* loss, int64_t n, unsigned call) {
    __shared__ bool last;
    double sum = 0.0;
    for (int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x; i < n; i += int64_t(gridDim.x) * 256)
        sum += (p[i] - t[i]) * (p[i] - t[i]);
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(&arrivals, 1) + 1 == call * gridDim.x;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    double total = 0.0;
    for (int i = threadIdx.x; i < gridDim.x; i += 256) total += __ldcg(&sums[i]);
    total = block_sum(total);
    if (threadIdx.x == 0) *loss = float(total / n);
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    static unsigned calls = 0;
    auto p = predictions.contiguous(), t = targets.contiguous();
    auto loss = torch::empty({}, p.options());
    mse<<<512, 256>>>(p.data_ptr<float>(), t.data_ptr<float>(), loss.data_ptr<float>(), p.numel(), ++calls);
    return loss;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
