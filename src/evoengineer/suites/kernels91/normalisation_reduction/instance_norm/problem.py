"""Instance normalisation: every channel of every image by itself."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, channels=1, height=1, width=7),
    Case.check(batch=3, channels=5, height=7, width=11),
    Case.check(batch=1, channels=7, height=37, width=29),
    Case.check(batch=2, channels=3, height=23, width=17, channels_last=1),
    Case.check(batch=3, channels=5, height=11, width=32),
    Case.bench(batch=16, channels=64, height=128, width=128),
]
flops = "7*batch*channels*height*width"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | float]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.height, case.width, case.channels).permute(0, 3, 1, 2)
    else:
        x = generator.values(case.batch, case.channels, case.height, case.width)
    return {"x": x, "eps": 1e-5}


def reference(x: torch.Tensor, eps: float) -> torch.Tensor:
    return torch.nn.functional.instance_norm(x, eps=eps)
