"""Transposed convolution of volumes (3-D) with stride, padding and groups."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

# fmt: off
cases = [
    Case.check(
        batch=1, channels=1, depth=1, height=1, width=1,
        filters=1, kernel_depth=1, kernel_height=1, kernel_width=1, groups=1,
        stride=1, padding_depth=0, padding_height=0, padding_width=0, output_padding=0,
    ),
    Case.check(
        batch=2, channels=6, depth=3, height=5, width=7,
        filters=9, kernel_depth=2, kernel_height=3, kernel_width=5, groups=3,
        stride=2, padding_depth=0, padding_height=1, padding_width=2, output_padding=1,
    ),
    Case.check(
        batch=1, channels=8, depth=8, height=4, width=8,
        filters=8, kernel_depth=3, kernel_height=3, kernel_width=4, groups=8,
        stride=1, padding_depth=1, padding_height=0, padding_width=1, output_padding=0,
    ),
    Case.check(
        batch=2, channels=4, depth=5, height=3, width=7, channels_last=1,
        filters=6, kernel_depth=3, kernel_height=5, kernel_width=4, groups=2,
        stride=3, padding_depth=1, padding_height=2, padding_width=0, output_padding=2,
    ),
    Case.check(
        batch=1, channels=6, depth=2, height=3, width=16, filters=4, kernel_depth=2,
        kernel_height=3, kernel_width=4, groups=2, stride=2, padding_depth=0, padding_height=1,
        padding_width=1, output_padding=0,
    ),
    Case.bench(
        batch=4, channels=32, depth=12, height=20, width=28,
        filters=32, kernel_depth=2, kernel_height=3, kernel_width=5, groups=4,
        stride=2, padding_depth=0, padding_height=1, padding_width=2, output_padding=1,
    ),
]
# fmt: on

flops = "2*batch*channels*filters*kernel_depth*kernel_height*kernel_width*depth*height*width//groups"


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
            case.channels,
            case.filters // case.groups,
            case.kernel_depth,
            case.kernel_height,
            case.kernel_width,
        ),
        "stride": case.stride,
        "padding_depth": case.padding_depth,
        "padding_height": case.padding_height,
        "padding_width": case.padding_width,
        "output_padding": case.output_padding,
        "groups": case.groups,
    }


def reference(
    x: torch.Tensor,
    weight: torch.Tensor,
    stride: int,
    padding_depth: int,
    padding_height: int,
    padding_width: int,
    output_padding: int,
    groups: int,
) -> torch.Tensor:
    return torch.nn.functional.conv_transpose3d(
        x,
        weight,
        stride=stride,
        padding=(padding_depth, padding_height, padding_width),
        output_padding=output_padding,
        groups=groups,
    )
