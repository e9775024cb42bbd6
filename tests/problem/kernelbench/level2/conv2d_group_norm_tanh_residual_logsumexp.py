import torch
from torch import nn


class Model(nn.Module):
    """Convolution, group norm, tanh, hard swish, residual, logsumexp."""

    def __init__(self, in_channels, out_channels, kernel_size, groups):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.group_norm = nn.GroupNorm(groups, out_channels, eps=1e-5)
        self.tanh = nn.Tanh()
        self.hard_swish = nn.Hardswish()

    def forward(self, x):
        x_conv = self.conv(x)
        x = self.hard_swish(self.tanh(self.group_norm(x_conv)))
        return torch.logsumexp(x_conv + x, dim=1, keepdim=True)


batch_size = 128
in_channels = 64
out_channels = 128
height, width = 128, 128
kernel_size = 3
groups = 16


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, groups]
