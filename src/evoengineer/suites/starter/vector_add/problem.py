"""Sum of two vectors."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(size=1),
    Case.check(size=257),
    Case.check(size=4099),
    Case.check(size=1021, step=2),
    Case.check(size=4128),
    Case.bench(size=1 << 23),
]
flops = "size"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    step = case.sizes.get("step", 1)  # 2: every second element of a longer vector, so not contiguous
    return {
        "a": generator.values(case.size * step)[::step],
        "b": generator.values(case.size * step)[::step],
    }


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a + b
