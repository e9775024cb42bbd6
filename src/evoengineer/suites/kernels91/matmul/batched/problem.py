"""Products of pairs of matrices (batched)."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, m=1, k=1, n=1),
    Case.check(batch=3, m=17, k=29, n=13),
    Case.check(batch=4, m=32, k=48, n=16),
    Case.check(batch=5, m=19, k=23, n=31, transposed=1),
    Case.check(batch=3, m=13, k=64, n=64),
    Case.bench(batch=32, m=256, k=256, n=512),
]
flops = "2*batch*m*n*k"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("transposed"):  # views that are not contiguous
        return {
            "a": generator.values(case.batch, case.k, case.m).transpose(1, 2),
            "b": generator.values(case.k, case.batch, case.n).transpose(0, 1),
        }
    return {
        "a": generator.values(case.batch, case.m, case.k),
        "b": generator.values(case.batch, case.k, case.n),
    }


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.bmm(a, b)
