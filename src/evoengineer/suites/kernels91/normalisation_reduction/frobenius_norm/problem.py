"""A matrix divided by its Frobenius norm."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(rows=1, columns=7),
    Case.check(rows=3, columns=86),
    Case.check(rows=101, columns=257),
    Case.check(rows=61, columns=67, transposed=1),
    Case.check(rows=13, columns=320),
    Case.bench(rows=4096, columns=4096),
]
flops = "3*rows*columns"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | float]:
    if case.sizes.get("transposed"):  # a view that is not contiguous
        x = generator.values(case.columns, case.rows).t()
    else:
        x = generator.values(case.rows, case.columns)
    return {"x": x, "eps": 1e-12}


def reference(x: torch.Tensor, eps: float) -> torch.Tensor:
    norm: torch.Tensor = torch.linalg.norm(x)
    return x / norm.clamp_min(eps)  # a matrix of zeros stays one
