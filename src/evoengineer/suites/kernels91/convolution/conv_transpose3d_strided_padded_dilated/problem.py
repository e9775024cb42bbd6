"""Transposed convolution of volumes (3-D) with stride, padding and dilation."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, channels=1, size=1, filters=1, kernel=1, stride=1, padding=0, dilation=1),
    Case.check(batch=2, channels=3, size=5, filters=5, kernel=3, stride=2, padding=1, dilation=3),
    Case.check(batch=1, channels=8, size=6, filters=4, kernel=2, stride=3, padding=2, dilation=2),
    Case.check(
        batch=2, channels=5, size=3, filters=3, kernel=4, stride=2, padding=0, dilation=1, channels_last=1
    ),
    Case.check(batch=1, channels=3, size=4, filters=3, kernel=4, stride=2, padding=1, dilation=1),
    Case.check(batch=1, channels=2, size=3, filters=3, kernel=3, stride=1, padding=1, dilation=1),
    Case.bench(batch=4, channels=32, size=16, filters=16, kernel=3, stride=2, padding=1, dilation=3),
]
flops = "2*batch*channels*filters*kernel*kernel*kernel*size*size*size"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.size, case.size, case.size, case.channels).permute(
            0, 4, 1, 2, 3
        )
    else:
        x = generator.values(case.batch, case.channels, case.size, case.size, case.size)
    return {
        "x": x,
        "weight": generator.normal(case.channels, case.filters, case.kernel, case.kernel, case.kernel),
        "bias": generator.normal(case.filters),
        "stride": case.stride,
        "padding": case.padding,
        "dilation": case.dilation,
    }


def reference(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int, dilation: int
) -> torch.Tensor:
    return torch.nn.functional.conv_transpose3d(
        x, weight, bias, stride=stride, padding=padding, dilation=dilation
    )
