"""Product of a diagonal matrix, given by its diagonal, and a matrix."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(m=1, n=1),
    Case.check(m=127, n=31),
    Case.check(m=64, n=256),
    Case.check(m=61, n=97, transposed=1),
    Case.check(m=13, n=320),
    Case.bench(m=4096, n=4096),
]
flops = "m*n"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("transposed"):  # views that are not contiguous
        return {"diagonal": generator.values(case.m, 2)[:, 0], "b": generator.values(case.n, case.m).t()}
    return {"diagonal": generator.values(case.m), "b": generator.values(case.m, case.n)}


def reference(diagonal: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return diagonal.unsqueeze(1) * b  # torch.diag(diagonal) @ b
