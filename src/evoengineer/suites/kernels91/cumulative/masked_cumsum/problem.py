"""Cumulative sum along the rows of a matrix over the elements that a mask selects."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(rows=1, columns=1),
    Case.check(rows=7, columns=33),
    Case.check(rows=5, columns=1021),
    Case.check(rows=61, columns=127, transposed=1),
    Case.check(rows=5, columns=1312),
    Case.bench(rows=4096, columns=4096),
]
flops = "2*rows*columns"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("transposed"):  # a view that is not contiguous
        x = generator.values(case.columns, case.rows).t()
    else:
        x = generator.values(case.rows, case.columns)
    return {"x": x, "mask": generator.mask(case.rows, case.columns)}


def reference(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return torch.cumsum(x * mask, dim=1)
