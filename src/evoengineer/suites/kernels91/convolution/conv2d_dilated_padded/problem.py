"""Convolution of images (2-D) with an asymmetric kernel, dilation and padding."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

# fmt: off
cases = [
    Case.check(
        batch=1, channels=1, size=1, filters=1, kernel_height=1, kernel_width=1,
        padding_height=0, padding_width=0, dilation_height=1, dilation_width=1,
    ),
    Case.check(
        batch=2, channels=3, size=17, filters=5, kernel_height=3, kernel_width=5,
        padding_height=2, padding_width=6, dilation_height=2, dilation_width=3,
    ),
    Case.check(
        batch=1, channels=8, size=16, filters=8, kernel_height=3, kernel_width=3,
        padding_height=3, padding_width=1, dilation_height=3, dilation_width=1,
    ),
    Case.check(
        batch=3, channels=5, size=19, channels_last=1, filters=7, kernel_height=4, kernel_width=2,
        padding_height=0, padding_width=5, dilation_height=1, dilation_width=7,
    ),
    Case.check(
        batch=1, channels=3, size=32, filters=5, kernel_height=3, kernel_width=3,
        padding_height=1, padding_width=2, dilation_height=1, dilation_width=2,
    ),
    Case.bench(
        batch=8, channels=8, size=112, filters=32, kernel_height=3, kernel_width=5,
        padding_height=2, padding_width=6, dilation_height=2, dilation_width=3,
    ),
]
# fmt: on

flops = (
    "2*batch*filters*channels*kernel_height*kernel_width"
    "*(size+2*padding_height-dilation_height*(kernel_height-1))"
    "*(size+2*padding_width-dilation_width*(kernel_width-1))"
)


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.size, case.size, case.channels).permute(0, 3, 1, 2)
    else:
        x = generator.values(case.batch, case.channels, case.size, case.size)
    return {
        "x": x,
        "weight": generator.normal(case.filters, case.channels, case.kernel_height, case.kernel_width),
        "padding_height": case.padding_height,
        "padding_width": case.padding_width,
        "dilation_height": case.dilation_height,
        "dilation_width": case.dilation_width,
    }


def reference(
    x: torch.Tensor,
    weight: torch.Tensor,
    padding_height: int,
    padding_width: int,
    dilation_height: int,
    dilation_width: int,
) -> torch.Tensor:
    return torch.nn.functional.conv2d(
        x, weight, padding=(padding_height, padding_width), dilation=(dilation_height, dilation_width)
    )
