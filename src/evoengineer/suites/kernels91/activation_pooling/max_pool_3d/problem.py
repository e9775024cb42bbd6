"""Maximum pooling over volumes (3-D)."""

import torch

from evoengineer.problem import ALL_DISTRIBUTIONS, Case, Distribution
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, channels=1, depth=1, height=1, width=1, kernel=1, stride=1, padding=0, dilation=1),
    Case.check(batch=2, channels=3, depth=11, height=7, width=13, kernel=3, stride=2, padding=1, dilation=3),
    Case.check(batch=1, channels=2, depth=5, height=9, width=17, kernel=2, stride=1, padding=1, dilation=1),
    Case.check(
        batch=2,
        channels=5,
        depth=7,
        height=13,
        width=11,
        kernel=3,
        stride=2,
        padding=0,
        dilation=2,
        channels_last=1,
    ),
    Case.check(batch=1, channels=3, depth=5, height=6, width=32, kernel=3, stride=1, padding=1, dilation=1),
    Case.bench(
        batch=8, channels=16, depth=48, height=48, width=48, kernel=3, stride=2, padding=1, dilation=1
    ),
]
# SPIKED: a maximum that begins with zero or misses an element shows.
distributions = (*ALL_DISTRIBUTIONS, Distribution.SPIKED)
flops = (
    "batch*channels*kernel*kernel*kernel"
    "*((depth+2*padding-dilation*(kernel-1)-1)//stride+1)"
    "*((height+2*padding-dilation*(kernel-1)-1)//stride+1)"
    "*((width+2*padding-dilation*(kernel-1)-1)//stride+1)"
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
        "kernel": case.kernel,
        "stride": case.stride,
        "padding": case.padding,
        "dilation": case.dilation,
    }


def reference(x: torch.Tensor, kernel: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    return torch.nn.functional.max_pool3d(x, kernel, stride, padding, dilation)
