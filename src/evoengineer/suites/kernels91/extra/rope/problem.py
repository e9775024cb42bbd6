"""Rotary position embedding: the halves of every head are rotated by angles that grow with the position."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(batch=1, length=1, heads=1, size=2),
    Case.check(batch=2, length=19, heads=3, size=10),
    Case.check(batch=1, length=61, heads=5, size=64),
    Case.check(batch=2, length=13, heads=7, size=34, transposed=1),
    Case.check(batch=2, length=13, heads=3, size=64),
    Case.bench(batch=4, length=2048, heads=16, size=128),
]
flops = "3*batch*length*heads*size"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor]:
    if case.sizes.get("transposed"):  # a view that is not contiguous
        x = generator.values(case.batch, case.heads, case.length, case.size).transpose(1, 2)
    else:
        x = generator.values(case.batch, case.length, case.heads, case.size)
    # A window that starts somewhere in a long text: else the tables would be the same in every draw.
    positions = torch.arange(case.length) + generator.integers(1, low=1, high=1000)
    frequencies = 10000.0 ** (-torch.arange(0, case.size, 2, dtype=torch.float64) / case.size)
    angles = positions[:, None] * frequencies
    return {"x": x, "cosines": angles.cos().float(), "sines": angles.sin().float()}


def reference(x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, dim=-1)
    cosines, sines = cosines[:, None], sines[:, None]  # the same for all heads
    return torch.cat((first * cosines - second * sines, second * cosines + first * sines), dim=-1)
