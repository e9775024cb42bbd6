"""Layer normalisation over all but the first dimension."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, channels=1, height=1, width=7),
    Case.check(batch=7, channels=3, height=5, width=11),
    Case.check(batch=2, channels=17, height=13, width=7),
    Case.check(batch=3, channels=5, height=19, width=23, channels_last=1),
    Case.check(batch=3, channels=3, height=13, width=32),
    Case.bench(batch=64, channels=64, height=64, width=64),
]
flops = "8*batch*channels*height*width"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | float]:
    if case.sizes.get("channels_last"):  # a view that is not contiguous
        x = generator.values(case.batch, case.height, case.width, case.channels).permute(0, 3, 1, 2)
    else:
        x = generator.values(case.batch, case.channels, case.height, case.width)
    shape = (case.channels, case.height, case.width)
    weight = generator.normal(*shape, mean=1.0, std=0.5)
    return {"x": x, "weight": weight, "bias": generator.normal(*shape), "eps": 1e-5}


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[1:], weight, bias, eps)
