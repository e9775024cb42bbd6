"""Convolution of cubic volumes (3-D) with an asymmetric kernel."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

# fmt: off
cases = [
    Case.check(
        batch=1, channels=1, size=1, filters=1, kernel_depth=1, kernel_height=1, kernel_width=1,
        padding_depth=0, padding_height=0, padding_width=0,
    ),
    Case.check(
        batch=2, channels=3, size=7, filters=5, kernel_depth=2, kernel_height=3, kernel_width=5,
        padding_depth=1, padding_height=1, padding_width=2,
    ),
    Case.check(
        batch=1, channels=4, size=8, filters=8, kernel_depth=1, kernel_height=4, kernel_width=2,
        padding_depth=0, padding_height=2, padding_width=1,
    ),
    Case.check(
        batch=2, channels=5, size=9, channels_last=1,
        filters=3, kernel_depth=5, kernel_height=1, kernel_width=3,
        padding_depth=0, padding_height=3, padding_width=0,
    ),
    Case.check(
        batch=1, channels=2, size=12, filters=3, kernel_depth=1, kernel_height=3, kernel_width=5,
        padding_depth=0, padding_height=1, padding_width=2,
    ),
    Case.bench(
        batch=4, channels=8, size=32, filters=16, kernel_depth=1, kernel_height=3, kernel_width=5,
        padding_depth=0, padding_height=1, padding_width=2,
    ),
]
# fmt: on

flops = (
    "2*batch*filters*channels*kernel_depth*kernel_height*kernel_width"
    "*(size+2*padding_depth-kernel_depth+1)"
    "*(size+2*padding_height-kernel_height+1)"
    "*(size+2*padding_width-kernel_width+1)"
)


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.size, case.size, case.size, case.channels).permute(
            0, 4, 1, 2, 3
        )
    else:
        x = generator.values(case.batch, case.channels, case.size, case.size, case.size)
    return {
        "x": x,
        "weight": generator.normal(
            case.filters, case.channels, case.kernel_depth, case.kernel_height, case.kernel_width
        ),
        "bias": generator.normal(case.filters),
        "padding_depth": case.padding_depth,
        "padding_height": case.padding_height,
        "padding_width": case.padding_width,
    }


def reference(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    padding_depth: int,
    padding_height: int,
    padding_width: int,
) -> torch.Tensor:
    return torch.nn.functional.conv3d(x, weight, bias, padding=(padding_depth, padding_height, padding_width))
