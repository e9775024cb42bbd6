import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """Products, losses, and what moves data."""

    def __init__(self, classes, width):
        super().__init__()
        self.table = nn.Embedding(classes, width)

    def forward(self, a, b, v, labels):
        batched = a.unsqueeze(0) * v[:3].reshape(3, 1, 1)
        return (
            a @ b, b.T @ a.T, a @ v, v @ v, torch.bmm(batched, b.expand(3, -1, -1)), torch.addmm(a @ b, a, b, alpha=0.5),
            torch.einsum("ik,kj->ji", a, b), torch.tril(a @ a.T), torch.triu(a, 1), torch.diag(v) @ b,
            F.cross_entropy(a, labels), F.mse_loss(a, a.flip(0)), F.smooth_l1_loss(a, a.flip(1)),
            F.huber_loss(a, a * 3, delta=0.7), F.l1_loss(a, -a), F.kl_div(F.log_softmax(a, 1), 0.5 * F.softmax(-a, 1)),
            F.binary_cross_entropy_with_logits(a, (a > 0).float()), F.triplet_margin_loss(a, a.flip(1), -a),
            self.table(labels), a.gather(1, labels[:, None]), a[:, labels[:2]], F.pad(a, (1, 2, 0, 3), value=0.5),
            torch.cat([a, a[:, 1:3]], 1), a[1:, ::2].t().contiguous(), torch.stack([a, a + 1], 1).flatten(1),
            a.chunk(2, 0)[0], F.glu(torch.cat([a, -a], 1), 1), torch.outer(v, v), a.repeat(2, 1),
            F.scaled_dot_product_attention(batched, batched * 0.5, batched + 1),
        )  # fmt: skip


rows = 22
depth = 26
columns = 18


def get_inputs():
    labels = torch.randint(0, depth, (rows,))
    return [torch.randn(rows, depth), torch.randn(depth, columns), torch.randn(depth), labels]


def get_init_inputs():
    return [depth, columns]
