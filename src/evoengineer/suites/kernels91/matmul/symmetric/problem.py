"""Product of two symmetric matrices."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(n=1),
    Case.check(n=17),
    Case.check(n=64),
    Case.check(n=61, strided=1),
    Case.bench(n=1280),
]
flops = "2*n*n*n"
moved_bytes = "4*n*(n+1) + 4*n*n"  # a triangle of each says all


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    return {"a": symmetric(case, generator), "b": symmetric(case, generator)}


def symmetric(case: Case, generator: Generator) -> torch.Tensor:
    matrix = generator.values(case.n, case.n)
    matrix = torch.triu(matrix) + torch.triu(matrix, 1).t()
    if case.sizes.get("strided"):  # a view that is not contiguous
        return torch.nn.functional.pad(matrix, (0, 3))[:, : case.n]
    return matrix


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b
