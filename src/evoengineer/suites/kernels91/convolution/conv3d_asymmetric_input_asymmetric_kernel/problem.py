"""Convolution of oblong volumes (3-D) with an asymmetric kernel."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

# fmt: off
cases = [
    Case.check(
        batch=1, channels=1, depth=1, height=1, width=1,
        filters=1, kernel_depth=1, kernel_height=1, kernel_width=1,
        stride_depth=1, stride_height=1, stride_width=1, padding_depth=0, padding_height=0, padding_width=0,
    ),
    Case.check(
        batch=2, channels=3, depth=5, height=7, width=11,
        filters=5, kernel_depth=3, kernel_height=2, kernel_width=3,
        stride_depth=1, stride_height=1, stride_width=2, padding_depth=1, padding_height=0, padding_width=2,
    ),
    Case.check(
        batch=1, channels=4, depth=16, height=8, width=4,
        filters=8, kernel_depth=5, kernel_height=3, kernel_width=1,
        stride_depth=2, stride_height=1, stride_width=1, padding_depth=2, padding_height=1, padding_width=0,
    ),
    Case.check(
        batch=2, channels=5, depth=3, height=13, width=7, channels_last=1,
        filters=7, kernel_depth=1, kernel_height=4, kernel_width=3,
        stride_depth=1, stride_height=3, stride_width=2, padding_depth=0, padding_height=1, padding_width=1,
    ),
    Case.check(
        batch=1, channels=2, depth=3, height=5, width=32, filters=5, kernel_depth=2,
        kernel_height=3, kernel_width=5, stride_depth=1, stride_height=1, stride_width=1,
        padding_depth=1, padding_height=1, padding_width=2,
    ),
    Case.bench(
        batch=4, channels=8, depth=16, height=48, width=64,
        filters=16, kernel_depth=2, kernel_height=5, kernel_width=3,
        stride_depth=1, stride_height=1, stride_width=2, padding_depth=1, padding_height=2, padding_width=1,
    ),
]
# fmt: on

flops = (
    "2*batch*filters*channels*kernel_depth*kernel_height*kernel_width"
    "*((depth+2*padding_depth-kernel_depth)//stride_depth+1)"
    "*((height+2*padding_height-kernel_height)//stride_height+1)"
    "*((width+2*padding_width-kernel_width)//stride_width+1)"
)


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
            case.filters, case.channels, case.kernel_depth, case.kernel_height, case.kernel_width
        ),
        "stride_depth": case.stride_depth,
        "stride_height": case.stride_height,
        "stride_width": case.stride_width,
        "padding_depth": case.padding_depth,
        "padding_height": case.padding_height,
        "padding_width": case.padding_width,
    }


def reference(
    x: torch.Tensor,
    weight: torch.Tensor,
    stride_depth: int,
    stride_height: int,
    stride_width: int,
    padding_depth: int,
    padding_height: int,
    padding_width: int,
) -> torch.Tensor:
    return torch.nn.functional.conv3d(
        x,
        weight,
        stride=(stride_depth, stride_height, stride_width),
        padding=(padding_depth, padding_height, padding_width),
    )
