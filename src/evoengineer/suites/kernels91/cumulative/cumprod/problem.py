"""Cumulative product along the rows of a matrix."""

import torch

from evoengineer.problem import Case, Distribution
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(rows=1, columns=1),
    Case.check(rows=7, columns=33),
    Case.check(rows=5, columns=1021),
    Case.check(rows=61, columns=127, transposed=1),
    Case.check(rows=5, columns=1312),
    Case.bench(rows=4096, columns=4096),
]
# Long products of any other values overflow or vanish: the factors are drawn as told below.
distributions = (Distribution.NORMAL,)
flops = "rows*columns"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    # Factors between exp(-0.03) and exp(0.03), of both signs: a product of thousands of them stays in range.
    factors = torch.exp(generator.uniform(case.rows, case.columns, low=-0.03, high=0.03))
    signs = generator.integers(case.rows, case.columns, low=0, high=2) * 2 - 1
    x = factors * signs
    if case.sizes.get("transposed"):  # a view that is not contiguous
        x = x.t().contiguous().t()
    return {"x": x}


def reference(x: torch.Tensor) -> torch.Tensor:
    return torch.cumprod(x, dim=1)
