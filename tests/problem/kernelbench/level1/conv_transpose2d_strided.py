import torch
from torch import nn


class Model(nn.Module):
    """Transposed, grouped, strided, dilated."""

    def __init__(self, in_channels, out_channels, kernel_size, groups):
        super().__init__()
        self.conv = nn.ConvTranspose2d(
            in_channels,
            out_channels,
            kernel_size,
            stride=(2, 3),
            padding=(1, 2),
            dilation=(2, 1),
            groups=groups,
            bias=False,
        )

    def forward(self, x):
        return self.conv(x)


batch_size = 16
in_channels = 32
out_channels = 64
kernel_size = (3, 5)
width = 256
height = 128
groups = 4


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, groups]
