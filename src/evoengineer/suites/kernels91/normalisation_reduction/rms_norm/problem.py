"""RMS normalisation over the channels of images."""

import torch

from evoengineer.problem import ALL_DISTRIBUTIONS, Case, Distribution
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, channels=1, height=1, width=1),
    Case.check(batch=3, channels=5, height=7, width=11),
    Case.check(batch=2, channels=127, height=5, width=13),
    Case.check(batch=2, channels=31, height=19, width=17, channels_last=1),
    Case.check(batch=2, channels=13, height=7, width=32),
    Case.bench(batch=16, channels=64, height=128, width=128),
]
# SMALL: beside values near 1, the epsilon could be left out.
distributions = (*ALL_DISTRIBUTIONS, Distribution.SMALL)
flops = "4*batch*channels*height*width"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | float]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.height, case.width, case.channels).permute(0, 3, 1, 2)
    else:
        x = generator.values(case.batch, case.channels, case.height, case.width)
    return {"x": x, "eps": 1e-5}


def reference(x: torch.Tensor, eps: float) -> torch.Tensor:
    return x / torch.sqrt(x.square().mean(dim=1, keepdim=True) + eps)
