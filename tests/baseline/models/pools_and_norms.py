import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """Pools and norms."""

    def __init__(self, channels, width):
        super().__init__()
        self.batch = nn.BatchNorm2d(channels)
        self.running = nn.BatchNorm1d(channels).eval()
        self.instance = nn.InstanceNorm2d(channels, affine=True)
        self.layer = nn.LayerNorm(width)
        self.layers = nn.LayerNorm((channels, width))
        self.prelu = nn.PReLU(channels)
        self.group = nn.GroupNorm(3, channels * 3)

    def forward(self, line, image, volume):
        return (
            F.max_pool1d(line, 4, 2, 1, 2),
            F.max_pool2d(image, (3, 2), stride=2, padding=1, ceil_mode=True),
            F.max_pool3d(volume, 2),
            F.avg_pool1d(line, 3, 2, 1),
            F.avg_pool2d(image, 3, 2, 1, count_include_pad=False),
            F.avg_pool2d(image, 3, 2, 1, ceil_mode=True),
            F.avg_pool3d(volume, 2, 1),
            F.adaptive_avg_pool2d(image, 1).flatten(1),
            F.adaptive_avg_pool2d(image, (3, 2)),
            F.adaptive_avg_pool3d(volume, 2),
            F.adaptive_max_pool2d(image, 2),
            self.batch(image),
            self.running(line),
            self.instance(image),
            self.layer(line),
            self.layers(line),
            self.prelu(image),
            self.group(torch.cat([image, image * 2, image - 1], dim=1)),
        )


batch = 3
channels = 10
length = 28
height = 12
width = 16


def get_inputs():
    return [
        torch.randn(batch, channels, length),
        torch.randn(batch, channels, height, width),
        torch.randn(batch, channels, 4, height, width),
    ]


def get_init_inputs():
    return [channels, length]
