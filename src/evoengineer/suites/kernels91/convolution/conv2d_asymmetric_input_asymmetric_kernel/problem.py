"""Convolution of oblong images (2-D) with an asymmetric kernel."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

# fmt: off
cases = [
    Case.check(
        batch=1, channels=1, height=1, width=1, filters=1, kernel_height=1, kernel_width=1,
        stride_height=1, stride_width=1, padding_height=0, padding_width=0,
    ),
    Case.check(
        batch=2, channels=3, height=11, width=23, filters=5, kernel_height=3, kernel_width=7,
        stride_height=1, stride_width=2, padding_height=1, padding_width=3,
    ),
    Case.check(
        batch=1, channels=8, height=32, width=16, filters=8, kernel_height=5, kernel_width=1,
        stride_height=2, stride_width=1, padding_height=2, padding_width=0,
    ),
    Case.check(
        batch=3, channels=5, height=13, width=7, channels_last=1, filters=7, kernel_height=2, kernel_width=3,
        stride_height=3, stride_width=1, padding_height=0, padding_width=1,
    ),
    Case.check(
        batch=2, channels=3, height=9, width=32, filters=5, kernel_height=3, kernel_width=5,
        stride_height=1, stride_width=1, padding_height=1, padding_width=2,
    ),
    Case.bench(
        batch=8, channels=8, height=160, width=256, filters=16, kernel_height=3, kernel_width=7,
        stride_height=2, stride_width=1, padding_height=1, padding_width=3,
    ),
]
# fmt: on

flops = (
    "2*batch*filters*channels*kernel_height*kernel_width"
    "*((height+2*padding_height-kernel_height)//stride_height+1)"
    "*((width+2*padding_width-kernel_width)//stride_width+1)"
)


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.height, case.width, case.channels).permute(0, 3, 1, 2)
    else:
        x = generator.values(case.batch, case.channels, case.height, case.width)
    return {
        "x": x,
        "weight": generator.normal(case.filters, case.channels, case.kernel_height, case.kernel_width),
        "stride_height": case.stride_height,
        "stride_width": case.stride_width,
        "padding_height": case.padding_height,
        "padding_width": case.padding_width,
    }


def reference(
    x: torch.Tensor,
    weight: torch.Tensor,
    stride_height: int,
    stride_width: int,
    padding_height: int,
    padding_width: int,
) -> torch.Tensor:
    return torch.nn.functional.conv2d(
        x, weight, stride=(stride_height, stride_width), padding=(padding_height, padding_width)
    )
