"""Depthwise convolution of oblong images (2-D) with an asymmetric kernel."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

# fmt: off
cases = [
    Case.check(
        batch=1, channels=1, height=1, width=1, kernel_height=1, kernel_width=1,
        stride=1, padding_height=0, padding_width=0,
    ),
    Case.check(
        batch=2, channels=3, height=11, width=29, kernel_height=3, kernel_width=7,
        stride=1, padding_height=1, padding_width=3,
    ),
    Case.check(
        batch=1, channels=16, height=32, width=16, kernel_height=5, kernel_width=1,
        stride=2, padding_height=2, padding_width=0,
    ),
    Case.check(
        batch=3, channels=7, height=13, width=19, channels_last=1, kernel_height=2, kernel_width=3,
        stride=1, padding_height=0, padding_width=2,
    ),
    Case.check(
        batch=2, channels=5, height=9, width=32, kernel_height=3, kernel_width=5, stride=1,
        padding_height=1, padding_width=2,
    ),
    Case.bench(
        batch=8, channels=64, height=96, width=160, kernel_height=3, kernel_width=7,
        stride=1, padding_height=1, padding_width=3,
    ),
]
# fmt: on

flops = (
    "2*batch*channels*kernel_height*kernel_width"
    "*((height+2*padding_height-kernel_height)//stride+1)"
    "*((width+2*padding_width-kernel_width)//stride+1)"
)


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.height, case.width, case.channels).permute(0, 3, 1, 2)
    else:
        x = generator.values(case.batch, case.channels, case.height, case.width)
    return {
        "x": x,
        "weight": generator.normal(case.channels, 1, case.kernel_height, case.kernel_width),
        "bias": generator.normal(case.channels),
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
    return torch.nn.functional.conv2d(
        x, weight, bias, stride=stride, padding=(padding_height, padding_width), groups=x.shape[1]
    )
