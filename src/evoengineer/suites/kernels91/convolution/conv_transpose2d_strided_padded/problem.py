"""Transposed convolution of images (2-D) with stride and padding."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

# fmt: off
cases = [
    Case.check(
        batch=1, channels=1, height=1, width=1, filters=1, kernel=1, stride=1, padding=0, output_padding=0,
    ),
    Case.check(
        batch=2, channels=3, height=7, width=11, filters=5, kernel=4, stride=2, padding=1, output_padding=0,
    ),
    Case.check(
        batch=1, channels=8, height=16, width=8, filters=8, kernel=5, stride=3, padding=2, output_padding=2,
    ),
    Case.check(
        batch=3, channels=7, height=5, width=13, channels_last=1, filters=3, kernel=3,
        stride=2, padding=0, output_padding=1,
    ),
    Case.check(
        batch=2, channels=3, height=5, width=16, filters=5, kernel=4, stride=2, padding=1,
        output_padding=0,
    ),
    Case.check(
        batch=2, channels=2, height=5, width=6, filters=3, kernel=3, stride=1, padding=1, output_padding=0,
    ),
    Case.bench(
        batch=8, channels=32, height=64, width=64, filters=32, kernel=4,
        stride=2, padding=1, output_padding=0,
    ),
]
# fmt: on

flops = "2*batch*channels*filters*kernel*kernel*height*width"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.height, case.width, case.channels).permute(0, 3, 1, 2)
    else:
        x = generator.values(case.batch, case.channels, case.height, case.width)
    return {
        "x": x,
        "weight": generator.normal(case.channels, case.filters, case.kernel, case.kernel),
        "bias": generator.normal(case.filters),
        "stride": case.stride,
        "padding": case.padding,
        "output_padding": case.output_padding,
    }


def reference(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int, output_padding: int
) -> torch.Tensor:
    return torch.nn.functional.conv_transpose2d(
        x, weight, bias, stride=stride, padding=padding, output_padding=output_padding
    )
