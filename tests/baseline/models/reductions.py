import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """Reductions, scans, softmax and places."""

    def forward(self, x, long):
        return (
            x.sum(1), x.mean((0, 2), keepdim=True), x.amax(2), x.amin((0, 1)), long.sum(), long.mean(1), long.max(),
            torch.max(x, 1)[0], torch.min(x, 2, keepdim=True).values, x.argmax(1), x.argmin(2, keepdim=True), x.argmax(),
            x.var(1), x.std((1, 2), keepdim=True), x.var(2, unbiased=False), torch.prod(x * 0.5 + 1, 2),
            torch.norm(x), torch.norm(x, p=1, dim=1), torch.linalg.vector_norm(x, 3, dim=2),
            torch.logsumexp(x, 1, keepdim=True), torch.logsumexp(x, (1, 2)),
            torch.softmax(x, 1), F.log_softmax(x, 2), torch.softmax(long, 1), F.softmin(x, 0),
            torch.cumsum(x, 1), torch.cumsum(x, 2), torch.cumprod(x * 0.1 + 1, 0),
            x.flip(1).cumsum(1).flip(1), F.normalize(x, dim=1), F.cosine_similarity(x, x.flip(2), dim=1),
        )  # fmt: skip


batch = 12
rows = 20
columns = 36
length = 2400


def get_inputs():
    return [torch.rand(batch, rows, columns), torch.rand(batch, length)]


def get_init_inputs():
    return []
