"""Logarithm of the softmax over the rows of a matrix."""

import torch

from evoengineer.problem import ALL_DISTRIBUTIONS, Case, Distribution
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(rows=1, columns=3),
    Case.check(rows=7, columns=33),
    Case.check(rows=5, columns=1021),
    Case.check(rows=61, columns=127, transposed=1),
    Case.check(rows=5, columns=1312),
    Case.bench(rows=2048, columns=8192),
]
# SPIKED: a maximum that begins with zero or misses an element shows.
distributions = (*ALL_DISTRIBUTIONS, Distribution.SPIKED)
flops = "5*rows*columns"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("transposed"):  # a view that is not contiguous
        return {"x": generator.values(case.columns, case.rows).t()}
    return {"x": generator.values(case.rows, case.columns)}


def reference(x: torch.Tensor) -> torch.Tensor:
    return torch.log_softmax(x, dim=-1)
