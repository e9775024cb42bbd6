"""Product of a matrix and a vector."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(m=1, k=1),
    Case.check(m=257, k=31),
    Case.check(m=64, k=512),
    Case.check(m=101, k=211, transposed=1),
    Case.check(m=44, k=160),
    Case.bench(m=4096, k=4096),
]
flops = "2*m*k"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("transposed"):  # views that are not contiguous
        return {"a": generator.values(case.k, case.m).t(), "x": generator.values(case.k, 2)[:, 0]}
    return {"a": generator.values(case.m, case.k), "x": generator.values(case.k)}


def reference(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return a @ x
