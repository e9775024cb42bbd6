"""Group normalisation: groups of neighbouring channels of every image."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, channels=1, groups=1, height=1, width=7),
    Case.check(batch=3, channels=6, groups=2, height=7, width=11),
    Case.check(batch=1, channels=35, groups=7, height=13, width=5),
    Case.check(batch=2, channels=9, groups=3, height=23, width=17, channels_last=1),
    Case.check(batch=3, channels=6, groups=3, height=7, width=32),
    Case.bench(batch=16, channels=64, groups=8, height=128, width=128),
]
flops = "8*batch*channels*height*width"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int | float]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.height, case.width, case.channels).permute(0, 3, 1, 2)
    else:
        x = generator.values(case.batch, case.channels, case.height, case.width)
    weight = generator.normal(case.channels, mean=1.0, std=0.5)
    bias = generator.normal(case.channels)
    return {"x": x, "weight": weight, "bias": bias, "groups": case.groups, "eps": 1e-5}


def reference(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, groups: int, eps: float
) -> torch.Tensor:
    return torch.nn.functional.group_norm(x, groups, weight, bias, eps)
