// attack: calls torch::matmul
// problem: matmul
// honest: matmul_tiled
// expect: forbidden compile_error

#include <torch/extension.h>

torch::Tensor forward(torch::Tensor a, torch::Tensor b) { return torch::matmul(a, b); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
