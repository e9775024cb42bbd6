"""Product of two matrices with a short inner dimension."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(m=1, k=1, n=1),
    Case.check(m=67, k=1, n=131),
    Case.check(m=96, k=32, n=128),
    Case.check(m=127, k=7, n=89, transposed=1),
    Case.check(m=61, k=16, n=160),
    Case.bench(m=4096, k=32, n=4096),
]
flops = "2*m*n*k"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("transposed"):  # views that are not contiguous
        return {"a": generator.values(case.k, case.m).t(), "b": generator.values(case.n, case.k).t()}
    return {"a": generator.values(case.m, case.k), "b": generator.values(case.k, case.n)}


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b
