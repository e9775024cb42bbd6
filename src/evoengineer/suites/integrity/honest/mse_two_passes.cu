// control: sums of blocks, then their sum
// problem: kernels91/loss/mse

#include <torch/extension.h>

// paste: mse.cuh

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    predictions = predictions.contiguous();
    targets = targets.contiguous();
    const float *P = predictions.data_ptr<float>(), *T = targets.data_ptr<float>();
    int64_t n = predictions.numel();
    auto loss = torch::empty({}, predictions.options());
    float* L = loss.data_ptr<float>();
    auto sums = torch::empty({1024}, predictions.options().dtype(torch::kFloat64));
    launch_mse(P, T, L, n, sums);
    return loss;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
