import torch
from torch import nn


class Model(nn.Module):
    """Transposed convolution of volumes with output padding."""

    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv = nn.ConvTranspose3d(
            in_channels, out_channels, kernel_size, stride=2, padding=1, output_padding=1, bias=False
        )

    def forward(self, x):
        return self.conv(x)


batch_size = 8
in_channels = 48
out_channels = 24
kernel_size = 3
width = 96
height = 96
depth = 96


def get_inputs():
    return [torch.rand(batch_size, in_channels, depth, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size]
