import torch
from torch import nn


class Model(nn.Module):
    """Transposed convolution, batch norm, tanh, max pool, group norm."""

    def __init__(self, in_channels, out_channels, kernel_size, num_groups):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, padding=1)
        self.batch_norm = nn.BatchNorm2d(out_channels)
        self.tanh = nn.Tanh()
        self.max_pool = nn.MaxPool2d(kernel_size=2, stride=2)
        self.group_norm = nn.GroupNorm(num_groups=num_groups, num_channels=out_channels)

    def forward(self, x):
        x = self.tanh(self.batch_norm(self.conv_transpose(x)))
        return self.group_norm(self.max_pool(x))


batch_size = 128
in_channels = 64
out_channels = 128
height = width = 32
kernel_size = 5
num_groups = 8


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, num_groups]
