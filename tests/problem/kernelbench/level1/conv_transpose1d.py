import torch
from torch import nn


class Model(nn.Module):
    """Transposed convolution of sequences."""

    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv = nn.ConvTranspose1d(
            in_channels, out_channels, kernel_size, stride=2, padding=1, dilation=2, bias=False
        )

    def forward(self, x):
        return self.conv(x)


batch_size = 32
in_channels = 32
out_channels = 64
kernel_size = 3
length = 131072


def get_inputs():
    return [torch.rand(batch_size, in_channels, length)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size]
