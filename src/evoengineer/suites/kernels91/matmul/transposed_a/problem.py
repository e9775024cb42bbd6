"""Product of a transposed matrix and a matrix."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(m=1, k=1, n=1),
    Case.check(m=17, k=33, n=19),
    Case.check(m=64, k=32, n=48),
    Case.check(m=37, k=101, n=53, transposed=1),
    Case.check(m=32, k=61, n=96),
    Case.bench(m=1024, k=1536, n=1280),
]
flops = "2*m*n*k"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("transposed"):  # views that are not contiguous
        return {"a": generator.values(case.m, case.k).t(), "b": generator.values(case.n, case.k).t()}
    return {"a": generator.values(case.k, case.m), "b": generator.values(case.k, case.n)}


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.t() @ b
