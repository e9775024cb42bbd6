"""Cosine similarity loss: one less the cosine of two rows, mean over the rows."""

import torch

from evoengineer.problem import Case, Distribution
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(rows=1, columns=61),
    Case.check(rows=7, columns=33),
    Case.check(rows=5, columns=1021),
    Case.check(rows=61, columns=127, transposed=1),
    Case.check(rows=5, columns=1312),
    Case.bench(rows=4096, columns=4096),
]
# Not NEAR_CONSTANT: all rows would be parallel, and the loss the rounding of 1 - 1.
distributions = (
    Distribution.NORMAL,
    Distribution.SHIFTED,
    Distribution.LARGE,
    Distribution.INTEGERS,
    Distribution.MIXED,
)
flops = "6*rows*columns"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | float]:
    if case.sizes.get("transposed"):  # a view that is not contiguous
        predictions = generator.values(case.columns, case.rows).t()
    else:
        predictions = generator.values(case.rows, case.columns)
    # Independent long rows are all but orthogonal, and the loss would be 1: targets lean on the predictions.
    lean = generator.uniform(case.rows, 1, low=-0.5, high=1.5)
    targets = generator.values(case.rows, case.columns) + lean * predictions
    return {"predictions": predictions, "targets": targets, "eps": 1e-8}


def reference(predictions: torch.Tensor, targets: torch.Tensor, eps: float) -> torch.Tensor:
    return (1 - torch.nn.functional.cosine_similarity(predictions, targets, dim=1, eps=eps)).mean()
