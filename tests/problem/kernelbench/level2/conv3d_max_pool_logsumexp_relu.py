import torch
from torch import nn


class Model(nn.Module):
    """Convolution, max pool, logsumexp, rectifier."""

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)
        self.max_pool = nn.MaxPool3d(kernel_size=2, stride=2)

    def forward(self, x):
        x = self.max_pool(self.conv(x))
        return torch.relu(torch.logsumexp(x, dim=1, keepdim=True))


batch_size = 16
in_channels = 16
out_channels = 32
depth, height, width = 32, 64, 64
kernel_size = 3
stride = 1
padding = 1


def get_inputs():
    return [torch.rand(batch_size, in_channels, depth, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding]
