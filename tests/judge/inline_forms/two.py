"""Two extensions with kernels of the same name, made on first use, called through functions and a module."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

_product = None

PRODUCT = r"""
__global__ void k(const float* x, const float* w, const float* b, float* y, int n, int in, int out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * out) return;
    int r = i / out, c = i % out;
    float a = b[c];
    for (int j = 0; j < in; ++j) a += x[r * in + j] * w[c * in + j];
    y[i] = a;
}
std::vector<torch::Tensor> go(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    int n = x.size(0), in = x.size(1), out = w.size(0);
    auto y = torch::empty({n, out}, x.options());
    k<<<(n * out + 127) / 128, 128>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), n, in, out);
    return {y, x};
}
"""
FINISH = r"""
#include <cmath>
__global__ void k(const float* x, const float* s, float* y, int n, int out, float scale) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i], 0.0f) * scale + s[i % out];
}
torch::Tensor go(torch::Tensor x, torch::Tensor s, float scale) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    k<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), s.data_ptr<float>(), y.data_ptr<float>(), n, x.size(1), scale);
    return y;
}
"""


def product_extension():
    global _product
    if _product is None:
        _product = load_inline(
            name="product",
            cpp_sources=["std::vector<torch::Tensor> go(torch::Tensor x, torch::Tensor w, torch::Tensor b);"],
            cuda_sources=[PRODUCT],
            functions="go",
        )
    return _product


finish = load_inline(
    "finish", "torch::Tensor go(torch::Tensor x, torch::Tensor s, float scale);", FINISH, ["go"]
)


class Product(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        nn.init.kaiming_uniform_(self.weight)

    def forward(self, x):
        result, same = product_extension().go(x, self.weight, self.bias)
        return result


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, scale):
        super().__init__()
        self.linear = Product(in_features, out_features)
        self.shift = nn.Parameter(torch.randn(out_features))
        self.scale = scale

    def forward(self, x):
        return finish.go(self.linear(x), self.shift, self.scale)
