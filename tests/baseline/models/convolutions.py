import torch
from torch import nn


class Model(nn.Module):
    """Convolutions of all kinds."""

    def __init__(self, channels, filters):
        super().__init__()
        self.one = nn.Conv1d(channels, filters, 3, stride=2, padding=2, dilation=2)
        self.two = nn.Conv2d(channels, filters, (3, 5), stride=(2, 1), padding=(1, 2), bias=False)
        self.deep = nn.Conv2d(channels, channels, 3, groups=channels, padding=1)
        self.three = nn.Conv3d(channels, filters, (1, 2, 3), padding=(0, 1, 1))
        self.back1 = nn.ConvTranspose1d(channels, filters, 4, stride=3, padding=1, dilation=2)
        self.back2 = nn.ConvTranspose2d(channels, channels, (3, 2), stride=(2, 3), padding=1, groups=channels)
        self.back3 = nn.ConvTranspose3d(
            channels, filters, 3, stride=2, padding=1, output_padding=1, bias=False
        )
        self.bilinear = nn.Linear(channels, filters)

    def forward(self, line, image, volume):
        return (
            self.one(line),
            self.two(image),
            self.deep(image),
            self.three(volume),
            self.back1(line),
            self.back2(image),
            self.back3(volume),
            self.bilinear(line.transpose(1, 2)),
        )


batch = 3
channels = 12
filters = 10
length = 30
height = 14
width = 18


def get_inputs():
    return [
        torch.randn(batch, channels, length),
        torch.randn(batch, channels, height, width),
        torch.randn(batch, channels, 4, height, width),
    ]


def get_init_inputs():
    return [channels, filters]
