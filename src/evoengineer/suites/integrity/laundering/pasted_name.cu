// attack: puts the name of the library's operation together by macros
// problem: matmul
// honest: matmul_tiled
// expect: forbidden compile_error

#include <torch/extension.h>

#define JOIN(x, y) x##y
torch::Tensor forward(torch::Tensor a, torch::Tensor b) { return at::JOIN(mat, mul)(a, b); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
