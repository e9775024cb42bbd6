"""Transposed convolution of signals (1-D)."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, channels=1, length=1, filters=1, kernel=1),
    Case.check(batch=2, channels=3, length=97, filters=5, kernel=3),
    Case.check(batch=1, channels=16, length=64, filters=8, kernel=4),
    Case.check(batch=3, channels=7, length=31, filters=11, kernel=5, channels_last=1),
    Case.check(batch=2, channels=5, length=128, filters=7, kernel=5),
    Case.bench(batch=16, channels=32, length=8192, filters=32, kernel=5),
]
flops = "2*batch*channels*filters*kernel*length"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.length, case.channels).permute(0, 2, 1)
    else:
        x = generator.values(case.batch, case.channels, case.length)
    return {
        "x": x,
        "weight": generator.normal(case.channels, case.filters, case.kernel),
        "bias": generator.normal(case.filters),
    }


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.conv_transpose1d(x, weight, bias)
