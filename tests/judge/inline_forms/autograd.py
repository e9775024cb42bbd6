"""An autograd function around the extension, parameters under other names in the order of state_dict, a template."""

from string import Template

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = Template("""
__global__ void k(const float* x, const float* w, const float* b, const float* s, float* y, int n, int in, int out,
                  float scale) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * out) return;
    int r = i / out, c = i % out;
    float a = b[c];
    for (int j = 0; j < in; ++j) a += x[r * in + j] * w[c * in + j];
    y[i] = fmaxf(a, 0.0f) * scale + s[c];
}

torch::Tensor forward_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor s, double scale) {
    int n = x.size(0), in = x.size(1), out = w.size(0);
    auto y = torch::empty({n, out}, x.options());
    k<<<(n * out + $block - 1) / $block, $block>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
        s.data_ptr<float>(), y.data_ptr<float>(), n, in, out, scale);
    return y;
}

""").substitute(block=128)

ext = load_inline(
    name="autograd",
    cpp_sources="torch::Tensor forward_cuda(torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor, double);",
    cuda_sources=SOURCE,
    functions=("forward_cuda",),
)


class Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, shift, scale):
        ctx.save_for_backward(x, weight)
        ctx.scale = scale
        if x.dim() != 2:
            raise ValueError("a matrix is wanted")
        return ext.forward_cuda(x.contiguous(), weight.contiguous(), bias, shift, scale)

    @staticmethod
    def backward(ctx, grad):
        return grad


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, scale):
        super().__init__()
        self.s = nn.Parameter(torch.zeros(out_features))
        self.w = nn.Parameter(torch.zeros((out_features, in_features)))
        self.b = nn.Parameter(torch.zeros(out_features))
        self.scale = 2 * scale

    def forward(self, x):
        return Fused.apply(x, self.w, self.b, self.s, self.scale / 2)
