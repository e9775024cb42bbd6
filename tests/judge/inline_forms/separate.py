"""C++ and CUDA sources apart, module-level strings, glue that changes nothing."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void k(const float* x, const float* w, const float* b, const float* s, float* y, int n, int in, int out,
                  float scale) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * out) return;
    int r = i / out, c = i % out;
    float a = b[c];
    for (int j = 0; j < in; ++j) a += x[r * in + j] * w[c * in + j];
    y[i] = fmaxf(a, 0.0f) * scale + s[c];
}

torch::Tensor fused_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor s, int64_t in_features, int width, float scale = 2.0f) {
    int n = x.size(0), in = x.size(1), out = w.size(0);
    auto y = torch::empty({n, out}, x.options());
    k<<<(n * out + 128 - 1) / 128, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
        s.data_ptr<float>(), y.data_ptr<float>(), n, in, out, scale);
    return y;
}
"""

cpp_source = (
    "torch::Tensor fused_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor s, "
    "int64_t in_features, int width, float scale = 2.0f);"
)

fused = load_inline(
    name="fused",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["fused_cuda"],
    verbose=True,
    extra_cflags=[""],
    extra_ldflags=[""],
)


class ModelNew(nn.Module):
    """The same, in one kernel."""

    def __init__(self, in_features, out_features, scale):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.shift = nn.Parameter(torch.randn(out_features) * 0.02)
        self.scale = scale
        self.in_features = in_features
        self.fused = fused

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous().cuda()
        if not x.is_contiguous():
            x = x.contiguous()
        batch, features = x.shape
        assert features == self.in_features, "wrong input"
        weight, bias = self.linear.weight, self.linear.bias
        return self.fused.fused_cuda(
            x, weight, bias, self.shift, x.size(1), self.linear.out_features, self.scale
        )


def get_inputs():
    return [torch.randn(16, 64).cuda()]
