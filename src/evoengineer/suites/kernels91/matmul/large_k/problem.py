"""Product of two matrices with a long inner dimension."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(m=1, k=1, n=1),
    Case.check(m=3, k=4099, n=5),
    Case.check(m=16, k=1024, n=16),
    Case.check(m=7, k=2053, n=11, transposed=1),
    Case.check(m=5, k=1056, n=32),
    Case.bench(m=256, k=32768, n=256),
]
flops = "2*m*n*k"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("transposed"):  # views that are not contiguous
        return {"a": generator.values(case.k, case.m).t(), "b": generator.values(case.n, case.k).t()}
    return {"a": generator.values(case.m, case.k), "b": generator.values(case.k, case.n)}


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b
