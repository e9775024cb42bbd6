"""L2 normalisation: every row divided by its Euclidean length."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(rows=1, columns=7),
    Case.check(rows=7, columns=33),
    Case.check(rows=5, columns=1021),
    Case.check(rows=61, columns=127, transposed=1),
    Case.check(rows=5, columns=1312),
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
    length: torch.Tensor = torch.linalg.vector_norm(x, dim=1, keepdim=True)
    return x / length.clamp_min(eps)  # a row of zeros stays one
