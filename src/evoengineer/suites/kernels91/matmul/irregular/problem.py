"""Product of two matrices whose sizes are no multiples of anything."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(m=1, k=1, n=1),
    Case.check(m=1, k=211, n=1),
    Case.check(m=61, k=59, n=67),
    Case.check(m=103, k=29, n=71, transposed=1),
    Case.check(m=37, k=64, n=96),
    Case.bench(m=2053, k=743, n=1481),
]
flops = "2*m*n*k"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("transposed"):  # views that are not contiguous
        return {"a": generator.values(case.k, case.m).t(), "b": generator.values(case.n, case.k).t()}
    return {"a": generator.values(case.m, case.k), "b": generator.values(case.k, case.n)}


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b
