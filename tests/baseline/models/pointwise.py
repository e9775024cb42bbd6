import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """Everything pointwise, one output each."""

    def forward(self, x, y, mask):
        z = x.abs() + 0.5
        return (
            torch.stack(
                [F.relu(x), F.relu6(x), F.leaky_relu(x, 0.2), torch.sigmoid(x), torch.tanh(x), F.silu(x)]
            ),
            torch.cat(
                [F.mish(x), F.softplus(x, 2.0, 10.0), F.elu(x, 0.7), F.selu(x), F.celu(x), F.gelu(x)], 1
            ),
            torch.cat([F.gelu(x, approximate="tanh"), F.hardtanh(x), F.hardswish(x), F.hardsigmoid(x)]),
            torch.cat(
                [F.softshrink(x), F.hardshrink(x), F.logsigmoid(x), F.threshold(x, 0.1, 0.3), F.tanhshrink(x)]
            ),
            torch.cat(
                [torch.exp(-z), torch.log(z), torch.log1p(z), torch.sqrt(z), torch.rsqrt(z), 1 / z, x**3]
            ),
            torch.cat([torch.sin(x), torch.cos(x), torch.erf(x), -x, torch.sign(x), torch.expm1(-z)]),
            torch.cat([x + y, x - 2 * y, 3 - x, torch.sub(x, y, alpha=0.5), x * y, x / z, z**y, 2.0**-z]),
            torch.cat(
                [torch.maximum(x, y), torch.min(x, y), x.clamp(-0.3, 0.4), x.clamp(min=y), torch.xlogy(z, z)]
            ),
            x > y,
            torch.where(mask, x, y) + x.masked_fill(mask, 2.0) + mask * x + (x * (mask & (y > 0))).floor(),
        )


rows = 24
columns = 40


def get_inputs():
    return [
        torch.randn(rows, columns),
        torch.randn(rows, columns),
        torch.randint(0, 2, (rows, columns)).bool(),
    ]


def get_init_inputs():
    return []
