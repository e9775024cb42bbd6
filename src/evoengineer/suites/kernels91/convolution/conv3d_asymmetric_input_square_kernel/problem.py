"""Convolution of oblong volumes (3-D) with a cubic kernel."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

# fmt: off
cases = [
    Case.check(
        batch=1, channels=1, depth=1, height=1, width=1, filters=1, kernel=1, stride=1, padding=0,
    ),
    Case.check(
        batch=2, channels=3, depth=3, height=7, width=11, filters=5, kernel=3, stride=1, padding=1,
    ),
    Case.check(
        batch=1, channels=4, depth=16, height=8, width=4, filters=8, kernel=3, stride=2, padding=2,
    ),
    Case.check(
        batch=2, channels=5, depth=5, height=13, width=7, channels_last=1, filters=7, kernel=2,
        stride=3, padding=0,
    ),
    Case.check(
        batch=1, channels=2, depth=3, height=5, width=32, filters=5, kernel=3, stride=1,
        padding=1,
    ),
    Case.bench(
        batch=4, channels=8, depth=16, height=32, width=64, filters=16, kernel=3, stride=1, padding=1,
    ),
]
# fmt: on

flops = (
    "2*batch*filters*channels*kernel*kernel*kernel"
    "*((depth+2*padding-kernel)//stride+1)"
    "*((height+2*padding-kernel)//stride+1)"
    "*((width+2*padding-kernel)//stride+1)"
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
        "weight": generator.normal(case.filters, case.channels, case.kernel, case.kernel, case.kernel),
        "bias": generator.normal(case.filters),
        "stride": case.stride,
        "padding": case.padding,
    }


def reference(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    return torch.nn.functional.conv3d(x, weight, bias, stride=stride, padding=padding)
