"""Scaled dot-product attention."""

import torch

from evoengineer.problem import Case, Distribution
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, heads=1, queries=1, keys=1, size=8),
    Case.check(batch=2, heads=3, queries=17, keys=33, size=16),
    Case.check(batch=1, heads=2, queries=61, keys=53, size=41),
    Case.check(batch=2, heads=2, queries=29, keys=29, size=32, transposed=1),
    Case.check(batch=1, heads=2, queries=13, keys=36, size=64),
    Case.bench(batch=2, heads=8, queries=1024, keys=1024, size=64),
]
# Not LARGE: the rounding of scores near a thousand, magnified by exp, is larger than the tolerance.
distributions = (
    Distribution.NORMAL,
    Distribution.SHIFTED,
    Distribution.NEAR_CONSTANT,
    Distribution.INTEGERS,
)
flops = "4*batch*heads*queries*keys*size"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    def draw(length: int) -> torch.Tensor:
        if case.sizes.get("transposed"):  # [batch][length][heads][size] in memory, as a projection leaves it
            return generator.values(case.batch, length, case.heads, case.size).transpose(1, 2)
        return generator.values(case.batch, case.heads, length, case.size)

    return {"query": draw(case.queries), "key": draw(case.keys), "value": draw(case.keys)}


def reference(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    return torch.softmax(scores, dim=-1) @ value
