"""Transposed convolution of images (2-D) with stride, padding, dilation and groups."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

# fmt: off
cases = [
    Case.check(
        batch=1, channels=1, height=1, width=1, filters=1, kernel_height=1, kernel_width=1, groups=1,
        stride_height=1, stride_width=1, padding_height=0, padding_width=0, dilation_height=1, dilation_width=1,
    ),
    Case.check(
        batch=2, channels=6, height=7, width=11, filters=9, kernel_height=3, kernel_width=5, groups=3,
        stride_height=2, stride_width=3, padding_height=1, padding_width=2, dilation_height=3, dilation_width=2,
    ),
    Case.check(
        batch=1, channels=8, height=16, width=8, filters=8, kernel_height=2, kernel_width=3, groups=8,
        stride_height=1, stride_width=2, padding_height=0, padding_width=1, dilation_height=2, dilation_width=1,
    ),
    Case.check(
        batch=3, channels=10, height=5, width=13, channels_last=1,
        filters=4, kernel_height=4, kernel_width=2, groups=2,
        stride_height=3, stride_width=1, padding_height=2, padding_width=0, dilation_height=1, dilation_width=3,
    ),
    Case.check(
        batch=2, channels=6, height=5, width=32, filters=4, kernel_height=3, kernel_width=5,
        groups=2, stride_height=2, stride_width=1, padding_height=1, padding_width=2,
        dilation_height=2, dilation_width=1,
    ),
    Case.bench(
        batch=4, channels=64, height=64, width=64, filters=64, kernel_height=3, kernel_width=5, groups=4,
        stride_height=2, stride_width=3, padding_height=1, padding_width=2, dilation_height=3, dilation_width=2,
    ),
]
# fmt: on

flops = "2*batch*channels*filters*kernel_height*kernel_width*height*width//groups"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.height, case.width, case.channels).permute(0, 3, 1, 2)
    else:
        x = generator.values(case.batch, case.channels, case.height, case.width)
    return {
        "x": x,
        "weight": generator.normal(
            case.channels, case.filters // case.groups, case.kernel_height, case.kernel_width
        ),
        "stride_height": case.stride_height,
        "stride_width": case.stride_width,
        "padding_height": case.padding_height,
        "padding_width": case.padding_width,
        "dilation_height": case.dilation_height,
        "dilation_width": case.dilation_width,
        "groups": case.groups,
    }


def reference(
    x: torch.Tensor,
    weight: torch.Tensor,
    stride_height: int,
    stride_width: int,
    padding_height: int,
    padding_width: int,
    dilation_height: int,
    dilation_width: int,
    groups: int,
) -> torch.Tensor:
    return torch.nn.functional.conv_transpose2d(
        x,
        weight,
        stride=(stride_height, stride_width),
        padding=(padding_height, padding_width),
        dilation=(dilation_height, dilation_width),
        groups=groups,
    )
