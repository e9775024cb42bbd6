"""Product of a matrix and a number."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(m=1, n=1),
    Case.check(m=31, n=127),
    Case.check(m=64, n=256),
    Case.check(m=61, n=97, transposed=1),
    Case.check(m=13, n=320),
    Case.bench(m=4096, n=4096),
]
flops = "m*n"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | float]:
    scale = float(generator.uniform(1, low=0.5, high=4.0))  # the same number in float32 and float64
    if case.sizes.get("transposed"):  # a view that is not contiguous
        return {"a": generator.values(case.n, case.m).t(), "scale": scale}
    return {"a": generator.values(case.m, case.n), "scale": scale}


def reference(a: torch.Tensor, scale: float) -> torch.Tensor:
    return a * scale
