"""Transposed convolution of oblong images (2-D) with an asymmetric kernel."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

# fmt: off
cases = [
    Case.check(
        batch=1, channels=1, height=1, width=1, filters=1, kernel_height=1, kernel_width=1,
    ),
    Case.check(
        batch=2, channels=3, height=7, width=19, filters=5, kernel_height=3, kernel_width=5,
    ),
    Case.check(
        batch=1, channels=8, height=16, width=8, filters=8, kernel_height=7, kernel_width=1,
    ),
    Case.check(
        batch=3, channels=7, height=5, width=23, channels_last=1, filters=3, kernel_height=2, kernel_width=3,
    ),
    Case.check(
        batch=2, channels=3, height=5, width=32, filters=5, kernel_height=3, kernel_width=5,
    ),
    Case.bench(
        batch=8, channels=16, height=64, width=128, filters=32, kernel_height=3, kernel_width=5,
    ),
]
# fmt: on

flops = "2*batch*channels*filters*kernel_height*kernel_width*height*width"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.height, case.width, case.channels).permute(0, 3, 1, 2)
    else:
        x = generator.values(case.batch, case.channels, case.height, case.width)
    return {
        "x": x,
        "weight": generator.normal(case.channels, case.filters, case.kernel_height, case.kernel_width),
    }


def reference(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.conv_transpose2d(x, weight)
