"""Product of two matrices."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(m=1, k=1, n=1),
    Case.check(m=17, k=33, n=19),
    Case.check(m=64, k=128, n=32),
    Case.check(m=37, k=101, n=53, transposed=1),
    Case.check(m=37, k=64, n=96),
    Case.bench(m=1024, k=1024, n=1024),
]
flops = "2*m*n*k"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("transposed"):  # a view that is not contiguous
        a = generator.values(case.k, case.m).t()
    else:
        a = generator.values(case.m, case.k)
    return {"a": a, "b": generator.values(case.k, case.n)}


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b
