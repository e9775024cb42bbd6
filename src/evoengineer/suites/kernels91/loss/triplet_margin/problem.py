"""Triplet margin loss with Euclidean distances."""

import torch

from evoengineer.problem import Case, Distribution
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(rows=11, columns=1),
    Case.check(rows=7, columns=33),
    Case.check(rows=5, columns=1021),
    Case.check(rows=61, columns=127, transposed=1),
    Case.check(rows=5, columns=1312),
    Case.bench(rows=4096, columns=2048),
]
# Not NEAR_CONSTANT: the two distances would cancel, and the loss would be the margin whatever the inputs.
distributions = (
    Distribution.NORMAL,
    Distribution.SHIFTED,
    Distribution.LARGE,
    Distribution.INTEGERS,
    Distribution.MIXED,
)
flops = "8*rows*columns"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | float]:
    if case.sizes.get("transposed"):  # a view that is not contiguous
        anchor = generator.values(case.columns, case.rows).t()
    else:
        anchor = generator.values(case.rows, case.columns)
    # Most positives lie farther than the negatives: else the loss is what little two like distances leave.
    farness = generator.uniform(case.rows, 1, low=0.9, high=2.0)
    return {
        "anchor": anchor,
        "positive": anchor + farness * (generator.values(case.rows, case.columns) - anchor),
        "negative": generator.values(case.rows, case.columns),
        "margin": 1.0,
        "eps": 1e-6,
    }


def reference(
    anchor: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor, margin: float, eps: float
) -> torch.Tensor:
    return torch.nn.functional.triplet_margin_loss(anchor, positive, negative, margin=margin, eps=eps)
