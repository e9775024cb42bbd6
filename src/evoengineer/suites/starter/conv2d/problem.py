"""Convolution of images (2-D) with stride and padding."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, channels=1, height=1, width=1, filters=1, kernel=1, stride=1, padding=0),
    Case.check(batch=2, channels=3, height=17, width=13, filters=5, kernel=3, stride=1, padding=1),
    Case.check(batch=1, channels=4, height=23, width=19, filters=7, kernel=5, stride=2, padding=2),
    Case.check(
        batch=3, channels=5, height=11, width=29, filters=3, kernel=3, stride=2, padding=0, channels_last=1
    ),
    Case.check(batch=2, channels=3, height=9, width=32, filters=5, kernel=3, stride=1, padding=1),
    Case.bench(batch=16, channels=32, height=64, width=64, filters=64, kernel=3, stride=1, padding=1),
]
flops = (
    "2*batch*filters*channels*kernel*kernel"
    "*((height+2*padding-kernel)//stride+1)*((width+2*padding-kernel)//stride+1)"
)


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.height, case.width, case.channels).permute(0, 3, 1, 2)
    else:
        x = generator.values(case.batch, case.channels, case.height, case.width)
    return {
        "x": x,
        "weight": generator.normal(case.filters, case.channels, case.kernel, case.kernel),
        "bias": generator.normal(case.filters),
        "stride": case.stride,
        "padding": case.padding,
    }


def reference(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    return torch.nn.functional.conv2d(x, weight, bias, stride, padding)
