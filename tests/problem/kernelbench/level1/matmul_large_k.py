import torch
from torch import nn


class Model(nn.Module):
    """Long inner dimension."""

    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return torch.matmul(A, B)


M = 256
N = 256
K = 131072 * 4


def get_inputs():
    return [torch.rand(M, K), torch.rand(K, N)]


def get_init_inputs():
    return []
