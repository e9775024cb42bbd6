// control: a warp for each row, then the mean
// problem: kernels91/loss/cross_entropy

#include <torch/extension.h>

// paste: cross_entropy.cuh

torch::Tensor forward(torch::Tensor logits, torch::Tensor targets) {
    return mean_cross_entropy(logits, targets, logits.size(1));
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
