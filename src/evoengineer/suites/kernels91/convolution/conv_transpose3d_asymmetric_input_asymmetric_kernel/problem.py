"""Transposed convolution of oblong volumes (3-D) with an asymmetric kernel."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

# fmt: off
cases = [
    Case.check(
        batch=1, channels=1, depth=1, height=1, width=1,
        filters=1, kernel_depth=1, kernel_height=1, kernel_width=1,
    ),
    Case.check(
        batch=2, channels=3, depth=3, height=7, width=11,
        filters=5, kernel_depth=2, kernel_height=3, kernel_width=5,
    ),
    Case.check(
        batch=1, channels=8, depth=8, height=4, width=8,
        filters=4, kernel_depth=3, kernel_height=1, kernel_width=4,
    ),
    Case.check(
        batch=2, channels=5, depth=5, height=3, width=7, channels_last=1,
        filters=3, kernel_depth=1, kernel_height=5, kernel_width=2,
    ),
    Case.check(
        batch=1, channels=2, depth=3, height=4, width=32, filters=3, kernel_depth=2,
        kernel_height=3, kernel_width=5,
    ),
    Case.bench(
        batch=4, channels=8, depth=16, height=32, width=48,
        filters=16, kernel_depth=3, kernel_height=2, kernel_width=5,
    ),
]
# fmt: on

flops = "2*batch*channels*filters*kernel_depth*kernel_height*kernel_width*depth*height*width"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.depth, case.height, case.width, case.channels).permute(
            0, 4, 1, 2, 3
        )
    else:
        x = generator.values(case.batch, case.channels, case.depth, case.height, case.width)
    return {
        "x": x,
        "weight": generator.normal(
            case.channels, case.filters, case.kernel_depth, case.kernel_height, case.kernel_width
        ),
        "bias": generator.normal(case.filters),
    }


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.conv_transpose3d(x, weight, bias)
