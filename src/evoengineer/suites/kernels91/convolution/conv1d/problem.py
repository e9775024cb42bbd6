"""Convolution of signals (1-D) with stride and padding."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, channels=1, length=1, filters=1, kernel=1, stride=1, padding=0),
    Case.check(batch=2, channels=3, length=97, filters=5, kernel=3, stride=1, padding=1),
    Case.check(batch=1, channels=4, length=128, filters=16, kernel=5, stride=3, padding=4),
    Case.check(batch=3, channels=7, length=53, filters=11, kernel=4, stride=2, padding=0, channels_last=1),
    Case.check(batch=2, channels=4, length=160, filters=7, kernel=3, stride=1, padding=1),
    Case.bench(batch=32, channels=16, length=8192, filters=32, kernel=5, stride=1, padding=2),
]
flops = "2*batch*filters*channels*kernel*((length+2*padding-kernel)//stride+1)"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.length, case.channels).permute(0, 2, 1)
    else:
        x = generator.values(case.batch, case.channels, case.length)
    return {
        "x": x,
        "weight": generator.normal(case.filters, case.channels, case.kernel),
        "bias": generator.normal(case.filters),
        "stride": case.stride,
        "padding": case.padding,
    }


def reference(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    return torch.nn.functional.conv1d(x, weight, bias, stride=stride, padding=padding)
