import torch
from torch import nn


class Model(nn.Module):
    """Scaled dot-product attention."""

    def __init__(self):
        super().__init__()

    def forward(self, Q, K, V):
        return torch.nn.functional.scaled_dot_product_attention(Q, K, V)


batch_size = 32
num_heads = 32
sequence_length = 512
embedding_dimension = 1024


def get_inputs():
    shape = (batch_size, num_heads, sequence_length, embedding_dimension)
    return [torch.rand(*shape, device="cuda", dtype=torch.float16) for _ in range(3)]


def get_init_inputs():
    return []
