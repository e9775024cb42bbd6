"""Layer normalisation over the last dimension."""

import torch

from evoengineer.problem import Case
from evoengineer.problem.inputs import Generator

cases = [
    Case.check(rows=1, columns=7),
    Case.check(rows=7, columns=33),
    Case.check(rows=5, columns=1021),
    Case.check(rows=61, columns=127, transposed=1),
    Case.check(rows=5, columns=1312),
    Case.bench(rows=4096, columns=2048),
]
flops = "8*rows*columns"


def make_inputs(case: Case, generator: Generator) -> dict[str, torch.Tensor | float]:
    if case.sizes.get("transposed"):  # a view that is not contiguous
        x = generator.values(case.columns, case.rows).t()
    else:
        x = generator.values(case.rows, case.columns)
    weight = generator.normal(case.columns, mean=1.0, std=0.5)
    return {"x": x, "weight": weight, "bias": generator.normal(case.columns), "eps": 1e-5}


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps)
