"""Product of two square matrices."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(n=1),
    Case.check(n=17),
    Case.check(n=64),
    Case.check(n=61, transposed=1),
    Case.bench(n=1536),
]
flops = "2*n*n*n"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("transposed"):  # views that are not contiguous
        return {"a": generator.values(case.n, case.n).t(), "b": generator.values(case.n, case.n).t()}
    return {"a": generator.values(case.n, case.n), "b": generator.values(case.n, case.n)}


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b
