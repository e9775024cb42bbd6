"""ReLU: max(x, 0)."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(rows=1, columns=1),
    Case.check(rows=3, columns=86),
    Case.check(rows=13, columns=257),
    Case.check(rows=61, columns=67, transposed=1),
    Case.check(rows=13, columns=320),
    Case.bench(rows=4096, columns=4096),
]
flops = "1*rows*columns"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("transposed"):  # a view that is not contiguous
        x = generator.values(case.columns, case.rows).t()
    else:
        x = generator.values(case.rows, case.columns)
    return {"x": x}


def reference(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x)
