"""Exclusive cumulative sum along the rows of a matrix: all the elements before."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(rows=1, columns=2),
    Case.check(rows=7, columns=33),
    Case.check(rows=5, columns=1025),
    Case.check(rows=61, columns=127, transposed=1),
    Case.check(rows=5, columns=1312),
    Case.bench(rows=4096, columns=4096),
]
flops = "rows*columns"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("transposed"):  # a view that is not contiguous
        x = generator.values(case.columns, case.rows).t()
    else:
        x = generator.values(case.rows, case.columns)
    return {"x": x}


def reference(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.pad(torch.cumsum(x[:, :-1], dim=1), (1, 0))
