"""Depthwise convolution of square images (2-D) with a square kernel."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, channels=1, size=1, kernel=1, stride=1, padding=0),
    Case.check(batch=2, channels=3, size=17, kernel=3, stride=1, padding=1),
    Case.check(batch=1, channels=16, size=16, kernel=5, stride=2, padding=2),
    Case.check(batch=3, channels=7, size=23, kernel=4, stride=3, padding=0, channels_last=1),
    Case.check(batch=2, channels=5, size=32, kernel=3, stride=1, padding=1),
    Case.bench(batch=16, channels=64, size=112, kernel=3, stride=1, padding=1),
]
flops = (
    "2*batch*channels*kernel*kernel*((size+2*padding-kernel)//stride+1)*((size+2*padding-kernel)//stride+1)"
)


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.size, case.size, case.channels).permute(0, 3, 1, 2)
    else:
        x = generator.values(case.batch, case.channels, case.size, case.size)
    return {
        "x": x,
        "weight": generator.normal(case.channels, 1, case.kernel, case.kernel),
        "stride": case.stride,
        "padding": case.padding,
    }


def reference(x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    return torch.nn.functional.conv2d(x, weight, stride=stride, padding=padding, groups=x.shape[1])
