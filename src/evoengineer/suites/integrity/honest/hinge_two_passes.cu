// control: sums of blocks, then their sum
// problem: kernels91/loss/hinge

#include <torch/extension.h>

// paste: hinge.cuh

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    return mean_hinge(predictions, targets, predictions.numel());
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
