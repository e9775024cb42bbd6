"""Product of two int8 matrices with a scale for each row of the first and each column of the second."""

import torch

from evoengineer.problem import Case, Distribution
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(m=1, k=1, n=1),
    Case.check(m=17, k=33, n=19),
    Case.check(m=64, k=128, n=32),
    Case.check(m=37, k=101, n=53, transposed=1),
    Case.check(m=37, k=64, n=96),
    Case.bench(m=1024, k=1024, n=1024),
]
distributions = (Distribution.NORMAL,)  # all inputs are drawn as told below
flops = "2*m*n*k"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    a = generator.integers(case.m, case.k, low=-127, high=128, dtype=torch.int8)
    if case.sizes.get("transposed"):  # a view that is not contiguous
        a = a.t().contiguous().t()
    return {
        "a": a,
        "b": generator.integers(case.k, case.n, low=-127, high=128, dtype=torch.int8),
        "row_scales": generator.uniform(case.m, low=0.005, high=0.02),
        "column_scales": generator.uniform(case.n, low=0.005, high=0.02),
    }


def reference(
    a: torch.Tensor, b: torch.Tensor, row_scales: torch.Tensor, column_scales: torch.Tensor
) -> torch.Tensor:
    product = a.double() @ b.double()  # exact: whole numbers below 2^53
    return product.to(row_scales.dtype) * row_scales[:, None] * column_scales
