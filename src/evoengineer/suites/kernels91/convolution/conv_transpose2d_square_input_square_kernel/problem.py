"""Transposed convolution of square images (2-D) with a square kernel."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, channels=1, size=1, filters=1, kernel=1),
    Case.check(batch=2, channels=3, size=13, filters=5, kernel=3),
    Case.check(batch=1, channels=8, size=16, filters=8, kernel=4),
    Case.check(batch=3, channels=7, size=11, filters=3, kernel=5, channels_last=1),
    Case.check(batch=1, channels=3, size=16, filters=5, kernel=5),
    Case.bench(batch=8, channels=16, size=112, filters=32, kernel=3),
]
flops = "2*batch*channels*filters*kernel*kernel*size*size"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.size, case.size, case.channels).permute(0, 3, 1, 2)
    else:
        x = generator.values(case.batch, case.channels, case.size, case.size)
    return {
        "x": x,
        "weight": generator.normal(case.channels, case.filters, case.kernel, case.kernel),
        "bias": generator.normal(case.filters),
    }


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.conv_transpose2d(x, weight, bias)
