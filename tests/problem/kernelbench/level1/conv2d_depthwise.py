import torch
from torch import nn


class Model(nn.Module):
    """Each channel by itself."""

    def __init__(self, in_channels: int, kernel_size: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, in_channels, kernel_size, groups=in_channels, bias=False)

    def forward(self, x):
        return self.conv(x)


batch_size = 64
in_channels = 128
kernel_size = 3
width = 256
height = 512


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, kernel_size]
