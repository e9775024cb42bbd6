"""Maximum over a dimension."""

import torch

from evoengineer.problem import Case, Distribution
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, rows=1, columns=1, dim=1),
    Case.check(batch=2, rows=33, columns=17, dim=1),
    Case.check(batch=3, rows=29, columns=131, dim=2),
    Case.check(batch=37, rows=5, columns=7, dim=0, transposed=1),
    Case.check(batch=3, rows=29, columns=96, dim=1),
    Case.check(batch=3, rows=28, columns=160, dim=2),
    Case.bench(batch=64, rows=256, columns=1024, dim=1),
]
# Not INTEGERS: nearly every result would be the same whole number.
distributions = (
    Distribution.NORMAL,
    Distribution.SHIFTED,
    Distribution.LARGE,
    Distribution.NEAR_CONSTANT,
    Distribution.MIXED,
)
flops = "batch*rows*columns"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | int]:
    if case.sizes.get("transposed"):  # a view that is not contiguous
        x = generator.values(case.batch, case.columns, case.rows).transpose(1, 2)
    else:
        x = generator.values(case.batch, case.rows, case.columns)
    return {"x": x, "dim": case.dim}


def reference(x: torch.Tensor, dim: int) -> torch.Tensor:
    return x.amax(dim)
