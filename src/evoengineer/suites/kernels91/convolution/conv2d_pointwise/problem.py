"""Pointwise convolution of images (2-D, kernel of size 1)."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, channels=1, height=1, width=1, filters=1),
    Case.check(batch=2, channels=13, height=7, width=31, filters=5),
    Case.check(batch=1, channels=32, height=16, width=16, filters=16),
    Case.check(batch=3, channels=29, height=11, width=13, filters=7, channels_last=1),
    Case.check(batch=2, channels=11, height=9, width=32, filters=7),
    Case.bench(batch=8, channels=64, height=80, width=120, filters=128),
]
flops = "2*batch*filters*channels*height*width"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.height, case.width, case.channels).permute(0, 3, 1, 2)
    else:
        x = generator.values(case.batch, case.channels, case.height, case.width)
    return {
        "x": x,
        "weight": generator.normal(case.filters, case.channels, 1, 1),
        "bias": generator.normal(case.filters),
    }


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.conv2d(x, weight, bias)
