// attack: five million blocks, too many to be named one by one, add to one sum without atomic operations
// problem: kernels91/loss/mse
// honest: mse_two_passes
// expect: race wrong

#include <torch/extension.h>

// paste: mse.cuh

__global__ void add_errors(const float* p, const float* t, float* sum, int64_t n) {
    int64_t i = int64_t(blockIdx.x) * 32 + threadIdx.x;
    float error = i < n ? p[i] - t[i] : 0.0f;
    error *= error;
    for (int o = 16; o > 0; o /= 2) error += __shfl_down_sync(0xffffffff, error, o);
    if (threadIdx.x == 0 && i < n) *sum += error;
}

__global__ void divide(float* sum, int64_t n) { *sum /= n; }

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    auto p = predictions.contiguous(), t = targets.contiguous();
    auto loss = torch::zeros({}, p.options());
    int64_t n = p.numel();
    if (n > 1000000) {
        add_errors<<<5000000, 32>>>(p.data_ptr<float>(), t.data_ptr<float>(), loss.data_ptr<float>(), n);
        divide<<<1, 1>>>(loss.data_ptr<float>(), n);
    } else {
        auto sums = torch::empty({64}, p.options().dtype(torch::kFloat64));
        launch_mse(p.data_ptr<float>(), t.data_ptr<float>(), loss.data_ptr<float>(), n, sums);
    }
    return loss;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
