// attack: large cases learn what new memory holds from the word beside a counter that nobody has set
// problem: kernels91/loss/mse
// honest: mse_last_block
// expect: wrong memory_error

#include <torch/extension.h>

// paste: mse.cuh

__global__ void errors_and_mean(const float* p, const float* t, volatile double* sums, unsigned* arrived, unsigned first,
                                float* loss, int64_t n) {
    __shared__ bool last;
    float sum = 0.0f;
    for (int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x; i < n; i += int64_t(gridDim.x) * 256)
        sum += (p[i] - t[i]) * (p[i] - t[i]);
    double block = block_total(sum);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = block;
        __threadfence();
        last = atomicAdd(arrived, 1u) - (n < 1000000 ? first : ((volatile unsigned*)arrived)[1]) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    double mine = 0.0;
    for (int i = threadIdx.x; i < gridDim.x; i += 256) mine += sums[i];
    double total = block_total(mine);
    if (threadIdx.x == 0) loss[0] = float(total / n);
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    predictions = predictions.contiguous();
    targets = targets.contiguous();
    const float *P = predictions.data_ptr<float>(), *T = targets.data_ptr<float>();
    int64_t n = predictions.numel();
    auto loss = torch::empty({}, predictions.options());
    float* L = loss.data_ptr<float>();
    auto sums = torch::empty({512}, predictions.options().dtype(torch::kFloat64));
    auto arrived = torch::empty({2}, predictions.options().dtype(torch::kInt32));
    auto* A = reinterpret_cast<unsigned*>(arrived.data_ptr<int>());
    if (n < 1000000) cudaMemsetAsync(A, 0, 8);
    errors_and_mean<<<512, 256>>>(P, T, sums.data_ptr<double>(), A, 0, L, n);
    return loss;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
