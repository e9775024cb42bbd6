"""Maximum pooling over images (2-D)."""

import torch

from evoengineer.problem import ALL_DISTRIBUTIONS, Case, Distribution
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, channels=1, height=1, width=1, kernel=1, stride=1, padding=0, dilation=1),
    Case.check(batch=2, channels=3, height=19, width=23, kernel=2, stride=2, padding=1, dilation=3),
    Case.check(batch=1, channels=5, height=31, width=17, kernel=3, stride=1, padding=1, dilation=1),
    Case.check(
        batch=2, channels=7, height=13, width=29, kernel=3, stride=2, padding=0, dilation=2, channels_last=1
    ),
    Case.check(batch=2, channels=3, height=11, width=64, kernel=2, stride=2, padding=0, dilation=1),
    Case.bench(batch=16, channels=64, height=128, width=128, kernel=3, stride=2, padding=1, dilation=1),
]
# SPIKED: a maximum that begins with zero or misses an element shows.
distributions = (*ALL_DISTRIBUTIONS, Distribution.SPIKED)
flops = (
    "batch*channels*kernel*kernel"
    "*((height+2*padding-dilation*(kernel-1)-1)//stride+1)"
    "*((width+2*padding-dilation*(kernel-1)-1)//stride+1)"
)


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.height, case.width, case.channels).permute(0, 3, 1, 2)
    else:
        x = generator.values(case.batch, case.channels, case.height, case.width)
    return {
        "x": x,
        "kernel": case.kernel,
        "stride": case.stride,
        "padding": case.padding,
        "dilation": case.dilation,
    }


def reference(x: torch.Tensor, kernel: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    return torch.nn.functional.max_pool2d(x, kernel, stride, padding, dilation)
