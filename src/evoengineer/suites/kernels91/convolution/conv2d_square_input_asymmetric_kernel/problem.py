"""Convolution of square images (2-D) with an asymmetric kernel."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

# fmt: off
cases = [
    Case.check(
        batch=1, channels=1, size=1, filters=1, kernel_height=1, kernel_width=1,
        stride=1, padding_height=0, padding_width=0,
    ),
    Case.check(
        batch=2, channels=3, size=17, filters=5, kernel_height=3, kernel_width=5,
        stride=1, padding_height=1, padding_width=2,
    ),
    Case.check(
        batch=1, channels=8, size=16, filters=8, kernel_height=7, kernel_width=1,
        stride=2, padding_height=3, padding_width=0,
    ),
    Case.check(
        batch=3, channels=5, size=13, channels_last=1, filters=7, kernel_height=2, kernel_width=3,
        stride=1, padding_height=0, padding_width=1,
    ),
    Case.check(
        batch=1, channels=3, size=32, filters=5, kernel_height=3, kernel_width=5, stride=1,
        padding_height=1, padding_width=2,
    ),
    Case.bench(
        batch=8, channels=8, size=112, filters=32, kernel_height=3, kernel_width=5,
        stride=1, padding_height=1, padding_width=2,
    ),
]
# fmt: on

flops = (
    "2*batch*filters*channels*kernel_height*kernel_width"
    "*((size+2*padding_height-kernel_height)//stride+1)"
    "*((size+2*padding_width-kernel_width)//stride+1)"
)


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.size, case.size, case.channels).permute(0, 3, 1, 2)
    else:
        x = generator.values(case.batch, case.channels, case.size, case.size)
    return {
        "x": x,
        "weight": generator.normal(case.filters, case.channels, case.kernel_height, case.kernel_width),
        "bias": generator.normal(case.filters),
        "stride": case.stride,
        "padding_height": case.padding_height,
        "padding_width": case.padding_width,
    }


def reference(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    stride: int,
    padding_height: int,
    padding_width: int,
) -> torch.Tensor:
    return torch.nn.functional.conv2d(x, weight, bias, stride=stride, padding=(padding_height, padding_width))
