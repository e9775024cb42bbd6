"""Methods against each other with the noisy engineer on the made-up landscape, and `guided` without each of its parts.

    python -m benchmarks.guided                       20 problems x 3 seeds x 45 trials
    python -m benchmarks.guided --problems 4 --seeds 1
    python -m benchmarks.guided --first 0             the problems that look-ahead and parents were chosen on

It shows whether the machinery works. It is no result of a language model, and none of real kernels: the engineer's odds
and the landscape are made up (`propose/noisy_engineer.py`, `benchmarks/landscape.py`). Intervals are 95%, from
resampling problems, of differences that are paired by problem and seed.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from benchmarks.landscape import RULES, TREATS, Landscape, LandscapeJudge
from evoengineer.archive import Archive
from evoengineer.experiment.journal import RunJournal
from evoengineer.propose.noisy_engineer import Noise, NoisyEngineer
from evoengineer.search.budget import Budget
from evoengineer.search.endings import LoopOptions
from evoengineer.search.loop import Loop
from evoengineer.search.methods import Method, find_method
from evoengineer.search.operators import Operator
from evoengineer.search.populations import SingleBest
from evoengineer.search.state import SearchState

RIVALS = ("free", "insight", "full", "best-of-n")
_RESAMPLES = 2000


@dataclass(frozen=True)
class Outcome:
    """One run."""

    validity: float
    log_speedup: float


def ablations() -> dict[str, Method]:
    """`guided` without one part each, and its look-ahead the other way round."""
    guided, _ = find_method("guided")

    def blind(operator: Operator) -> Operator:
        return replace(operator, guidance=tuple(part for part in operator.guidance if part.key != "profile"))

    return {
        "without profile": replace(
            guided,
            cycle=tuple(map(blind, guided.cycle)),
            opening=tuple(map(blind, guided.opening)),
            fallback=blind(guided.fallback),
        ),
        "without repair": replace(guided, repair=False),
        "without cells": replace(guided, population=SingleBest),
        "without credit": replace(guided, adaptive=False),
        "with look-ahead 4": replace(guided, lookahead=4),
        "free with look-ahead 2": replace(find_method("free")[0], lookahead=2),
    }


def run(method: Method, number: int, seed: int, trials: int, noise: Noise, folder: Path) -> Outcome:
    """One method on one problem."""
    landscape = Landscape(number)
    task = landscape.task()
    identity = f"{method.name}-{number}-{seed}"
    with Archive(folder / "archive.db") as archive:
        record = archive.create_run(
            id=identity, problem=task.name, method=method.name, proposer="noisy-engineer", device=task.device,
            seed=seed, trials=trials, settings={}, task=task.to_json(), environment={},
        )  # fmt: skip
        loop = Loop(
            run=identity,
            state=SearchState(method, task, seed),
            journal=RunJournal(archive, record),
            proposer=NoisyEngineer(RULES, TREATS, noise),
            judge=LandscapeJudge(landscape),
            budget=Budget(trials=trials),
            options=LoopOptions(workers=1),
        )
        progress = loop.run().progress
    best = progress.best
    assert best is not None
    assert best.speedup is not None
    return Outcome(progress.valid / max(1, progress.trials), math.log(best.speedup))


def interval(differences: list[list[float]]) -> tuple[float, float, float]:
    """Mean and 95% of paired differences, by resampling problems (the outer list)."""
    random = Random(0)
    means = [statistics.fmean(each) for each in differences]
    resampled = sorted(statistics.fmean(random.choices(means, k=len(means))) for _ in range(_RESAMPLES))
    return statistics.fmean(means), resampled[_RESAMPLES // 40], resampled[-_RESAMPLES // 40]


def table(results: dict[str, list[list[Outcome]]]) -> str:
    """A row for each method, with `guided` against it."""
    lines = [
        "| method | validity | speedup | guided: validity more by | guided: speedup more by the factor |",
        "|---|---|---|---|---|",
    ]
    ours = results["guided"]
    for name, theirs in results.items():
        validity = statistics.fmean(each.validity for row in theirs for each in row)
        speedup = math.exp(statistics.fmean(each.log_speedup for row in theirs for each in row))
        paired = "| – | – |"
        if name != "guided":
            valid = interval(_paired(ours, theirs, lambda each: each.validity))
            logs = interval(_paired(ours, theirs, lambda each: each.log_speedup))
            faster = [math.exp(value) for value in logs]
            paired = (
                f"| {100 * valid[0]:.1f} points ({100 * valid[1]:.1f} to {100 * valid[2]:.1f}) "
                f"| {faster[0]:.2f} ({faster[1]:.2f} to {faster[2]:.2f}) |"
            )
        lines.append(f"| {name} | {100 * validity:.1f}% | {speedup:.2f}x {paired}")
    return "\n".join(lines)


def _paired(
    ours: list[list[Outcome]], theirs: list[list[Outcome]], value: Callable[[Outcome], float]
) -> list[list[float]]:
    return [
        [value(mine) - value(other) for mine, other in zip(row, others, strict=True)]
        for row, others in zip(ours, theirs, strict=True)
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--problems", type=int, default=20)
    parser.add_argument(
        "--first", type=int, default=100, help="number of the first problem, and the first seed"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=45)
    parser.add_argument("--broken", type=float, default=0.4)
    options = parser.parse_args(arguments)
    noise = Noise(broken=options.broken)
    methods = {name: find_method(name)[0] for name in ("guided", *RIVALS)} | ablations()
    results: dict[str, list[list[Outcome]]] = {}
    for name, method in methods.items():
        with tempfile.TemporaryDirectory() as folder:
            results[name] = [
                [
                    run(method, number, seed, options.trials, noise, Path(folder))
                    for seed in range(options.first, options.first + options.seeds)
                ]
                for number in range(options.first, options.first + options.problems)
            ]
        print(f"{name}: done", file=sys.stderr, flush=True)
    print(
        f"{options.problems} problems from {options.first}, {options.seeds} seeds, {options.trials} trials, {noise}\n"
    )
    print(table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
