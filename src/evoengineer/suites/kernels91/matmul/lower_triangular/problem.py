"""Product of two lower triangular matrices."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(n=1),
    Case.check(n=17),
    Case.check(n=64),
    Case.check(n=73, transposed=1),
    Case.bench(n=1024),
]
flops = "n*(n+1)*(n+2)//3"
moved_bytes = "4*n*(n+1) + 4*n*n"  # two triangles in, a full matrix out


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("transposed"):  # views that are not contiguous
        return {
            "a": torch.triu(generator.values(case.n, case.n)).t(),
            "b": torch.triu(generator.values(case.n, case.n)).t(),
        }
    return {
        "a": torch.tril(generator.values(case.n, case.n)),
        "b": torch.tril(generator.values(case.n, case.n)),
    }


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.tril(a) @ torch.tril(b)
