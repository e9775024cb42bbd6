import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """ELU."""

    def __init__(self, slope: float = 0.01):
        super().__init__()
        self.slope = slope

    def forward(self, x: torch.Tensor):
        return F.elu(x, alpha=self.slope)


batch_size = 4096
dim = 393216


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return [0.3]
