"""Kullback-Leibler divergence of predictions from targets, mean over the rows."""

import torch

from evoengineer.problem import Case, Distribution
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(rows=1, columns=31),
    Case.check(rows=7, columns=33),
    Case.check(rows=5, columns=1021),
    Case.check(rows=61, columns=127, transposed=1),
    Case.check(rows=5, columns=1312),
    Case.bench(rows=4096, columns=4096),
]
# Not NEAR_CONSTANT: both distributions would be uniform, and their divergence the rounding of large terms.
distributions = (
    Distribution.NORMAL,
    Distribution.SHIFTED,
    Distribution.LARGE,
    Distribution.INTEGERS,
    Distribution.MIXED,
)
flops = "5*rows*columns"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    # Rows of different sharpness: else the mean hardly depends on the draw, and a part of it would do.
    scale = generator.uniform(case.rows, 1, low=0.5, high=2.0)
    log_predictions = torch.log_softmax(generator.values(case.rows, case.columns) * scale, dim=1)
    if case.sizes.get("transposed"):  # a view that is not contiguous
        log_predictions = log_predictions.t().contiguous().t()
    targets = torch.softmax(generator.values(case.rows, case.columns), dim=1)
    return {"log_predictions": log_predictions, "targets": targets}


def reference(log_predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.kl_div(log_predictions, targets, reduction="batchmean")
