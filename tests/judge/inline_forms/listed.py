"""Lists of sources, a dict of functions, texts put together, two functions in turn, results written in place."""

import torch
import torch.nn as nn
from torch.utils import cpp_extension

THREADS = 128
COMMON = "#define THREADS %d\n" % THREADS
PRODUCT = (
    COMMON
    + """
__global__ void product(const float* x, const float* w, const float* b, float* y, int n, int in, int out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * out) return;
    int r = i / out, c = i % out;
    float a = b[c];
    for (int j = 0; j < in; ++j) a += x[r * in + j] * w[c * in + j];
    y[i] = a;
}
torch::Tensor product_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    int n = x.size(0), in = x.size(1), out = w.size(0);
    auto y = torch::empty({n, out}, x.options());
    product<<<(n * out + THREADS - 1) / THREADS, THREADS>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), n, in, out);
    return y;
}
"""
)
FINISH = """
__global__ void finish(const float* x, const float* s, float* y, int n, int out, float scale) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i], {zero}) * scale + s[i % out];
}}
void finish_cuda(torch::Tensor x, torch::Tensor s, torch::Tensor& y, double scale) {{
    int n = x.numel(), out = x.size(1);
    finish<<<(n + THREADS - 1) / THREADS, THREADS>>>(
        x.data_ptr<float>(), s.data_ptr<float>(), y.data_ptr<float>(), n, out, scale);
}}
""".format(zero="0.0f")


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, scale):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.shift = nn.Parameter(torch.randn(out_features) * 0.02)
        self.scale = scale
        self.ops = cpp_extension.load_inline(
            name="ops",
            cpp_sources=[
                "torch::Tensor product_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor b);",
                "void finish_cuda(torch::Tensor x, torch::Tensor s, torch::Tensor& y, double scale);",
            ],
            cuda_sources=[PRODUCT, FINISH],
            functions={"product_cuda": "x @ w.T + b", "finish_cuda": "relu, scale, shift"},
        )

    def forward(self, x):
        with torch.no_grad():
            rows = x.shape[0]
            product = self.ops.product_cuda(x, self.linear.weight, self.linear.bias)
            out = torch.empty((rows, product.size(1)), device=x.device, dtype=x.dtype)
            self.ops.finish_cuda(product, self.shift, out, float(self.scale))
            return out
