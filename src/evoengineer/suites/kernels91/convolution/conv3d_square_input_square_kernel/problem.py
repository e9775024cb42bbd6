"""Convolution of cubic volumes (3-D) with a cubic kernel."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, channels=1, size=1, filters=1, kernel=1, stride=1, padding=0),
    Case.check(batch=2, channels=3, size=7, filters=5, kernel=3, stride=1, padding=1),
    Case.check(batch=1, channels=4, size=8, filters=8, kernel=4, stride=2, padding=2),
    Case.check(batch=2, channels=5, size=11, filters=7, kernel=2, stride=2, padding=0, channels_last=1),
    Case.check(batch=1, channels=2, size=12, filters=3, kernel=3, stride=1, padding=1),
    Case.bench(batch=4, channels=8, size=32, filters=16, kernel=3, stride=1, padding=1),
]
flops = (
    "2*batch*filters*channels*kernel*kernel*kernel"
    "*((size+2*padding-kernel)//stride+1)"
    "*((size+2*padding-kernel)//stride+1)"
    "*((size+2*padding-kernel)//stride+1)"
)


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.size, case.size, case.size, case.channels).permute(
            0, 4, 1, 2, 3
        )
    else:
        x = generator.values(case.batch, case.channels, case.size, case.size, case.size)
    return {
        "x": x,
        "weight": generator.normal(case.filters, case.channels, case.kernel, case.kernel, case.kernel),
        "stride": case.stride,
        "padding": case.padding,
    }


def reference(x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    return torch.nn.functional.conv3d(x, weight, stride=stride, padding=padding)
