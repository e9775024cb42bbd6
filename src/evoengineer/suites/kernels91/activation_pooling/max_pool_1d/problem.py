"""Maximum pooling over sequences (1-D)."""

import torch

from evoengineer.problem import ALL_DISTRIBUTIONS, Case, Distribution
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, channels=1, length=1, kernel=1, stride=1, padding=0, dilation=1),
    Case.check(batch=2, channels=3, length=67, kernel=4, stride=2, padding=2, dilation=3),
    Case.check(batch=3, channels=5, length=101, kernel=3, stride=1, padding=1, dilation=1),
    Case.check(batch=2, channels=7, length=257, kernel=5, stride=3, padding=0, dilation=2, channels_last=1),
    Case.check(batch=3, channels=5, length=160, kernel=2, stride=2, padding=0, dilation=1),
    Case.bench(batch=32, channels=64, length=8192, kernel=4, stride=2, padding=2, dilation=3),
]
# SPIKED: a maximum that begins with zero or misses an element shows.
distributions = (*ALL_DISTRIBUTIONS, Distribution.SPIKED)
flops = "batch*channels*kernel*((length+2*padding-dilation*(kernel-1)-1)//stride+1)"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.length, case.channels).permute(0, 2, 1)
    else:
        x = generator.values(case.batch, case.channels, case.length)
    return {
        "x": x,
        "kernel": case.kernel,
        "stride": case.stride,
        "padding": case.padding,
        "dilation": case.dilation,
    }


def reference(x: torch.Tensor, kernel: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    return torch.nn.functional.max_pool1d(x, kernel, stride, padding, dilation)
