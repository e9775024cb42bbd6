"""Leaky ReLU: negative values are scaled by a slope."""

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
flops = "2*rows*columns"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | float]:
    if case.sizes.get("transposed"):  # a view that is not contiguous
        x = generator.values(case.columns, case.rows).t()
    else:
        x = generator.values(case.rows, case.columns)
    return {"x": x, "negative_slope": 0.01}


def reference(x: torch.Tensor, negative_slope: float) -> torch.Tensor:
    return torch.nn.functional.leaky_relu(x, negative_slope)
