// control: a float atomic for each warp, in any order
// problem: kernels91/loss/mse

#include <torch/extension.h>

__global__ void warp_errors(const float* p, const float* t, float* total, float factor, int64_t n) {
    float sum = 0.0f;
    for (int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x; i < n; i += int64_t(gridDim.x) * 256)
        sum += (p[i] - t[i]) * (p[i] - t[i]);
    for (int o = 16; o > 0; o /= 2) sum += __shfl_down_sync(0xffffffff, sum, o);
    if (threadIdx.x % 32 == 0) atomicAdd(total, sum * factor);
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    predictions = predictions.contiguous();
    targets = targets.contiguous();
    const float *P = predictions.data_ptr<float>(), *T = targets.data_ptr<float>();
    int64_t n = predictions.numel();
    auto loss = torch::zeros({}, predictions.options());
    float* L = loss.data_ptr<float>();
    warp_errors<<<1024, 256>>>(P, T, L, 1.0f / float(n), n);
    return loss;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
