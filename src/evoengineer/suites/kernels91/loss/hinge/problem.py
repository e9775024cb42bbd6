"""Hinge loss for targets of -1 and 1."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(rows=1, columns=1),
    Case.check(rows=3, columns=86),
    Case.check(rows=101, columns=257),
    Case.check(rows=61, columns=67, transposed=1),
    Case.check(rows=13, columns=320),
    Case.bench(rows=4096, columns=4096),
]
flops = "4*rows*columns"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("transposed"):  # a view that is not contiguous
        predictions = generator.values(case.columns, case.rows).t()
    else:
        predictions = generator.values(case.rows, case.columns)
    # Rows of different magnitude: else the mean hardly depends on the draw, and a part of it would do.
    scale = generator.uniform(case.rows, 1, low=0.5, high=2.0)
    targets = generator.integers(case.rows, case.columns, low=0, high=2, dtype=torch.float32) * 2 - 1
    return {"predictions": predictions * scale, "targets": targets}


def reference(predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return torch.clamp(1 - predictions * targets, min=0).mean()
