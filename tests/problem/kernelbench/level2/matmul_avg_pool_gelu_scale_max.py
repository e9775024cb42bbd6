import torch
from torch import nn


class Model(nn.Module):
    """Product, average pool, GELU, scaling, maximum."""

    def __init__(self, in_features, out_features, pool_kernel_size, scale_factor):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.avg_pool = nn.AvgPool1d(kernel_size=pool_kernel_size)
        self.scale_factor = scale_factor

    def forward(self, x):
        x = self.avg_pool(self.matmul(x).unsqueeze(1)).squeeze(1)
        x = torch.nn.functional.gelu(x) * self.scale_factor
        return torch.max(x, dim=1).values


batch_size = 1024
in_features = 8192
out_features = 8192
pool_kernel_size = 16
scale_factor = 2.0


def get_inputs():
    return [torch.rand(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, pool_kernel_size, scale_factor]
