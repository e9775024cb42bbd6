"""Product of a 4-D tensor and a matrix."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, i=1, j=1, k=1, n=1),
    Case.check(batch=2, i=3, j=17, k=29, n=13),
    Case.check(batch=2, i=4, j=16, k=48, n=16),
    Case.check(batch=3, i=5, j=7, k=23, n=31, transposed=1),
    Case.check(batch=2, i=3, j=7, k=64, n=64),
    Case.bench(batch=8, i=64, j=128, k=128, n=128),
]
flops = "2*batch*i*j*n*k"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("transposed"):  # views that are not contiguous
        a = generator.values(case.batch, case.j, case.i, case.k).transpose(1, 2)
        return {"a": a, "b": generator.values(case.n, case.k).t()}
    return {
        "a": generator.values(case.batch, case.i, case.j, case.k),
        "b": generator.values(case.k, case.n),
    }


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.einsum("bijk,kn->bijn", a, b)
