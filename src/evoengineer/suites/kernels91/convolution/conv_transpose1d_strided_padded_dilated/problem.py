"""Transposed convolution of signals (1-D) with stride, padding and dilation."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

# fmt: off
cases = [
    Case.check(
        batch=1, channels=1, length=1, filters=1, kernel=1,
        stride=1, padding=0, output_padding=0, dilation=1,
    ),
    Case.check(
        batch=2, channels=3, length=47, filters=5, kernel=3,
        stride=2, padding=1, output_padding=1, dilation=3,
    ),
    Case.check(
        batch=1, channels=16, length=32, filters=8, kernel=4,
        stride=3, padding=4, output_padding=0, dilation=2,
    ),
    Case.check(
        batch=3, channels=7, length=31, channels_last=1, filters=11, kernel=5,
        stride=2, padding=0, output_padding=1, dilation=1,
    ),
    Case.check(
        batch=2, channels=5, length=64, filters=7, kernel=3, stride=2, padding=1,
        output_padding=1, dilation=1,
    ),
    Case.check(
        batch=2, channels=2, length=19, filters=3, kernel=3,
        stride=1, padding=1, output_padding=0, dilation=2,
    ),
    Case.bench(
        batch=8, channels=32, length=8192, filters=32, kernel=5,
        stride=2, padding=1, output_padding=1, dilation=3,
    ),
]
# fmt: on

flops = "2*batch*channels*filters*kernel*length"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.length, case.channels).permute(0, 2, 1)
    else:
        x = generator.values(case.batch, case.channels, case.length)
    return {
        "x": x,
        "weight": generator.normal(case.channels, case.filters, case.kernel),
        "bias": generator.normal(case.filters),
        "stride": case.stride,
        "padding": case.padding,
        "output_padding": case.output_padding,
        "dilation": case.dilation,
    }


def reference(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    stride: int,
    padding: int,
    output_padding: int,
    dilation: int,
) -> torch.Tensor:
    return torch.nn.functional.conv_transpose1d(
        x, weight, bias, stride=stride, padding=padding, output_padding=output_padding, dilation=dilation
    )
