"""Bindings of its own, arguments by name and left out, an f-string with a constant, dedented text."""

import textwrap

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

BLOCK = 64 * 2

CUDA = textwrap.dedent(f"""
    #include <torch/extension.h>
    #define BLOCK {BLOCK}
    __global__ void k(const float* x, const float* w, const float* b, const float* s, float* y, int n, int in, int out,
                  float scale) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * out) return;
    int r = i / out, c = i % out;
    float a = b[c];
    for (int j = 0; j < in; ++j) a += x[r * in + j] * w[c * in + j];
    y[i] = fmaxf(a, 0.0f) * scale + s[c];
}}

    torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor s, double scale, bool unused) {{
    int n = x.size(0), in = x.size(1), out = w.size(0);
    auto y = torch::empty({{n, out}}, x.options());
    k<<<(n * out + BLOCK - 1) / BLOCK, BLOCK>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
        s.data_ptr<float>(), y.data_ptr<float>(), n, in, out, scale);
    return y;
}}

    PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{
        m.def("run", &run, "the whole", py::arg("x"), py::arg("w"), py::arg("b"), py::arg("s"), py::arg("scale") = 1.0,
              py::arg("unused") = false);
    }}
""")

module = load_inline(
    name="bound", cpp_sources="", cuda_sources=CUDA, extra_cuda_cflags=["-O3", "--use_fast_math"]
)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, scale: float = 1.0) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.shift = nn.Parameter(torch.randn(out_features) * 0.02)
        self.scale = scale

    def forward(self, x):
        return module.run(x, self.linear.weight, b=self.linear.bias, s=self.shift, scale=self.scale)
