"""`python -m evoengineer.problem.checking PATH NAME`: is a problem fit to judge kernels with?

Refuses degenerate ones: an output that is nearly constant, that a copy of an input would pass for, that does not
depend on an input, is not finite, or differs between two runs of the reference. A wrong kernel could pass such a
problem. Prints JSON: a list of
findings, empty when the problem is good. Imports torch.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from evoengineer.errors import EvoEngineerError
from evoengineer.problem.live import Live, open_live
from evoengineer.problem.model import Case, CaseKind, Distribution

LEAST_VARIATION = 0.01  # standard deviation of an output over its scale
_ENOUGH = 16  # elements that make a standard deviation worth looking at
_SEEDS = (11, 12, 13)
_CLOSE = 1e-4  # the widest tolerance of float32


def findings(live: Live) -> list[str]:
    """Everything that is wrong with the problem, in words; empty if nothing is."""
    found: list[str] = []
    for case in live.problem.cases:
        found += _not_finite(live, case) + _not_deterministic(live, case)
    if not found:
        found = _nearly_constant(live) + trivial_answers(live) + _insensitive(live)
    return found


def trivial_answers(live: Live) -> list[str]:
    """Outputs for which a constant or a copy of an input would pass in every check case, whatever the draw."""
    found: dict[int, set[str]] = {}
    for case in live.problem.check_cases:
        for distribution in live.problem.distributions:
            for seed in _SEEDS:
                inputs = live.inputs(case, distribution, seed)
                for number, output in enumerate(live.outputs(case, inputs, double=False)):
                    passing = _stand_ins(inputs, output)
                    found[number] = found.get(number, passing) & passing
    return [
        f"{what} passes for output {number} in every check case: nothing would have to be computed"
        for number, stand_ins in found.items()
        for what in sorted(stand_ins)
    ]


def _stand_ins(inputs: Mapping[str, Any], output: torch.Tensor) -> set[str]:
    """What is the output, without having been computed."""
    flat = output.reshape(-1).double()
    found = {f"the constant {value}" for value in (0, 1) if _alike(torch.full_like(flat, value), flat)}
    for name, value in inputs.items():
        fits = isinstance(value, torch.Tensor) and value.numel() == output.numel()
        if fits and _alike(value.reshape(-1).double(), flat):
            found.add(f"a copy of {name!r}")
    return found


def _alike(stand_in: torch.Tensor, output: torch.Tensor) -> bool:
    scale = float(output.square().mean().sqrt()) if output.numel() else 0.0
    return bool(((stand_in - output).abs() <= _CLOSE * (output.abs() + scale)).all())


def _run(live: Live, case: Case, distribution: Distribution, seed: int) -> tuple[torch.Tensor, ...]:
    return live.outputs(case, live.inputs(case, distribution, seed), double=False)


def _not_finite(live: Live, case: Case) -> list[str]:
    chosen = live.problem.distributions if case.kind is CaseKind.CHECK else live.problem.distributions[:1]
    return [
        f"case {case.name}, distribution {distribution}: output {number} has values that are not finite"
        for distribution in chosen
        for number, output in enumerate(_run(live, case, distribution, _SEEDS[0]))
        if output.is_floating_point() and not bool(torch.isfinite(output).all())
    ]


def _not_deterministic(live: Live, case: Case) -> list[str]:
    if case.kind is CaseKind.BENCH:
        return []  # the same code as for the check cases, and costly
    inputs = live.inputs(case, live.problem.distributions[0], _SEEDS[0])
    first, second = (live.outputs(case, inputs, double=False) for _ in range(2))
    same = all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    drawn = [live.inputs(case, live.problem.distributions[0], _SEEDS[0]) for _ in range(2)]
    repeats = all(
        torch.equal(a, b) for a, b in zip(*(_tensors(each.values()) for each in drawn), strict=True)
    )
    return [
        *([] if same else [f"case {case.name}: two runs of the reference on the same inputs differ"]),
        *(
            []
            if repeats
            else [f"case {case.name}: make_inputs gives other inputs for the same generator seed"]
        ),
    ]


def _nearly_constant(live: Live) -> list[str]:
    """By element where there are many, over draws where the output is a number or two."""
    found = []
    outputs = len(_run(live, live.problem.cases[0], live.problem.distributions[0], _SEEDS[0]))
    for number in range(outputs):
        variations = []
        for case in live.problem.cases:
            drawn = [
                _run(live, case, d, s)[number].double()
                for d in live.problem.distributions
                for s in _SEEDS[:1]
            ]
            variations.append(_variation(drawn))
        bench = _run(live, live.problem.bench_case, live.problem.distributions[0], _SEEDS[0])[number].double()
        if max(variations) < LEAST_VARIATION or (
            bench.numel() >= _ENOUGH and _variation([bench]) < LEAST_VARIATION
        ):
            found.append(
                f"output {number} is nearly constant: its standard deviation is {max(variations):.2g} of its scale "
                f"(at least {LEAST_VARIATION} is needed), so a constant would pass for it"
            )
    return found


def _variation(outputs: Sequence[torch.Tensor]) -> float:
    if outputs[0].numel() >= _ENOUGH:
        return max(_spread(output.reshape(-1)) for output in outputs)
    if len(outputs) < 2:
        return 0.0
    return _spread(torch.stack([output.reshape(-1)[0] for output in outputs if output.numel()]))


def _spread(values: torch.Tensor) -> float:
    scale = float(values.abs().max())
    return float(values.std()) / scale if scale > 0 else 0.0


def _insensitive(live: Live) -> list[str]:
    """Each tensor is drawn anew while the others stay: the output has to follow, in one case at least.

    A KernelBench model's state comes as it is, needed or not: a bias before a norm, running statistics in training.
    """
    cases = live.problem.check_cases
    names = [
        name
        for name, value in live.inputs(cases[0], live.problem.distributions[0], _SEEDS[0]).items()
        if isinstance(value, torch.Tensor) and name not in live.optional
    ]
    return [
        f"no output depends on the argument {name!r}: a kernel could ignore it"
        for name in names
        if not any(_follows(live, case, name) for case in cases)
    ]


def _follows(live: Live, case: Case, name: str) -> bool:
    for distribution in live.problem.distributions:
        inputs = live.inputs(case, distribution, _SEEDS[1])
        other = live.inputs(case, distribution, _SEEDS[2])
        before = live.outputs(case, inputs, double=False)
        after = live.outputs(case, {**inputs, name: other[name]}, double=False)
        if any(not torch.equal(a, b) for a, b in zip(before, after, strict=True)):
            return True
    return False


def _tensors(values: Any) -> list[torch.Tensor]:
    return [value for value in values if isinstance(value, torch.Tensor)]


def main() -> int:
    """Print the findings on one problem as JSON."""
    path, name = sys.argv[1:3]
    try:
        found = findings(open_live(Path(path), name))
    except EvoEngineerError as error:
        found = [str(error)]
    except Exception as error:  # the problem's own code failed: its author needs to know how
        found = [f"{type(error).__name__}: {error}"]
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
