"""Huber loss: squared near zero, linear beyond delta."""

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
flops = "5*rows*columns"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | float]:
    if case.sizes.get("transposed"):  # a view that is not contiguous
        predictions = generator.values(case.columns, case.rows).t()
    else:
        predictions = generator.values(case.rows, case.columns)
    # Rows of different magnitude: else the mean hardly depends on the draw, and a part of it would do.
    scale = generator.uniform(case.rows, 1, low=0.5, high=2.0)
    targets = generator.values(case.rows, case.columns)
    return {"predictions": predictions * scale, "targets": targets * scale, "delta": 1.0}


def reference(predictions: torch.Tensor, targets: torch.Tensor, delta: float) -> torch.Tensor:
    return torch.nn.functional.huber_loss(predictions, targets, delta=delta)
