"""Convolution of signals (1-D) with stride and dilation."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, channels=1, length=1, filters=1, kernel=1, stride=1, dilation=1),
    Case.check(batch=2, channels=3, length=101, filters=5, kernel=3, stride=2, dilation=3),
    Case.check(batch=1, channels=8, length=128, filters=16, kernel=4, stride=1, dilation=5),
    Case.check(batch=3, channels=7, length=67, filters=11, kernel=5, stride=3, dilation=2, channels_last=1),
    Case.check(batch=2, channels=4, length=160, filters=7, kernel=5, stride=1, dilation=8),
    Case.bench(batch=32, channels=16, length=16384, filters=32, kernel=3, stride=2, dilation=4),
]
flops = "2*batch*filters*channels*kernel*((length-dilation*(kernel-1)-1)//stride+1)"


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
        "dilation": case.dilation,
    }


def reference(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, dilation: int
) -> torch.Tensor:
    return torch.nn.functional.conv1d(x, weight, bias, stride=stride, dilation=dilation)
