"""Cross entropy of logits and class indices, mean over the rows."""

import torch

from evoengineer.problem import ALL_DISTRIBUTIONS, Case, Distribution
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(rows=2, classes=509),
    Case.check(rows=7, classes=33),
    Case.check(rows=5, classes=1021),
    Case.check(rows=61, classes=127, transposed=1),
    Case.check(rows=5, classes=1312),
    Case.bench(rows=4096, classes=4096),
]
# SPIKED: a maximum that begins with zero or misses an element shows.
distributions = (*ALL_DISTRIBUTIONS, Distribution.SPIKED)
flops = "4*rows*classes"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("transposed"):  # a view that is not contiguous
        logits = generator.values(case.classes, case.rows).t()
    else:
        logits = generator.values(case.rows, case.classes)
    # Rows of different magnitude: else the mean hardly depends on the draw, and a part of it would do.
    scale = generator.uniform(case.rows, 1, low=0.5, high=2.0)
    targets = generator.integers(case.rows, low=0, high=case.classes)
    return {"logits": logits * scale, "targets": targets}


def reference(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(logits, targets)
