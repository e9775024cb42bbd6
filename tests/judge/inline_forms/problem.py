import torch
import torch.nn as nn


class Model(nn.Module):
    """Linear, then ReLU, scaled."""

    def __init__(self, in_features, out_features, scale):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.shift = nn.Parameter(torch.randn(out_features))
        self.scale = scale

    def forward(self, x):
        return torch.relu(self.linear(x)) * self.scale + self.shift


batch = 16
in_features = 64
out_features = 48


def get_inputs():
    return [torch.randn(batch, in_features)]


def get_init_inputs():
    return [in_features, out_features, 0.5]
