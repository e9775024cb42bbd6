"""Product of a tall, skinny matrix and a small one."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(m=1, k=1, n=1),
    Case.check(m=1009, k=7, n=3),
    Case.check(m=512, k=16, n=16),
    Case.check(m=769, k=11, n=13, transposed=1),
    Case.check(m=259, k=16, n=32),
    Case.bench(m=131072, k=64, n=64),
]
flops = "2*m*n*k"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("transposed"):  # views that are not contiguous
        return {"a": generator.values(case.k, case.m).t(), "b": generator.values(case.n, case.k).t()}
    return {"a": generator.values(case.m, case.k), "b": generator.values(case.k, case.n)}


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b
