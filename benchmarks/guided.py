"""Methods against each other with the noisy engineer on the made-up landscape, and `guided` without each of its parts.

    python -m benchmarks.guided                       20 problems x 3 seeds x 45 trials, and 10 of the tuner
    python -m benchmarks.guided --problems 4 --seeds 1
    python -m benchmarks.guided --first 0             the problems that `guided` was chosen on
    python -m benchmarks.guided --only "free;full"     some of the rows, beside guided; `;` between

It shows whether the machinery works. It is no result of a language model, and none of real kernels: the engineer's odds
and the landscape are made up (`propose/noisy_engineer.py`, `benchmarks/landscape.py`). Intervals are 95%, from
resampling problems, of differences that are paired by problem and seed. What `guided` knows of other problems comes
from a library that runs of `free` on twelve further problems fill.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from benchmarks.landscape import RULES, Landscape, LandscapeCraft, LandscapeJudge, treats
from evoengineer.archive import Archive
from evoengineer.experience.learning import family_of, proofs_of, reference_digest
from evoengineer.experience.lessons import Lesson, snapshot
from evoengineer.experience.proofs import Proof
from evoengineer.experiment.journal import RunJournal
from evoengineer.propose.noisy_engineer import Noise, NoisyEngineer
from evoengineer.search.budget import Budget
from evoengineer.search.endings import LoopOptions
from evoengineer.search.loop import Loop
from evoengineer.search.methods import Method, find_method
from evoengineer.search.operators import Operator
from evoengineer.search.populations import SingleBest
from evoengineer.search.state import SearchState
from evoengineer.search.tuning import tune

RIVALS = ("free", "insight", "full", "best-of-n")
SCHOOL = range(1000, 1012)  # problems that the experience library is filled from
_RESAMPLES = 2000


@dataclass(frozen=True)
class Outcome:
    """One run."""

    validity: float
    log_speedup: float


@dataclass(frozen=True)
class Entry:
    """A row of the table: a method, and what goes with it."""

    method: Method
    experience: str = "problem"  # what of the library it must not know; "all": it has none
    tunes: bool = True


def entries() -> dict[str, Entry]:
    """`guided`, the others as they are and with its look-ahead, and `guided` without one part each."""
    guided, _ = find_method("guided")
    rivals = {name: find_method(name)[0] for name in RIVALS}

    def blind(operator: Operator) -> Operator:
        """With the short profile that other methods show."""
        parts = (
            replace(part, profile=True) if part.key in ("I1", "I2") else part  # type: ignore[type-var]
            for part in operator.guidance
            if part.key != "profile"
        )
        return replace(operator, guidance=tuple(parts))

    return {
        "guided": Entry(guided),
        **{name: Entry(method) for name, method in rivals.items()},
        **{f"{name}, look-ahead 2": Entry(replace(method, lookahead=2)) for name, method in rivals.items()},
        "guided without profile": Entry(
            replace(
                guided,
                cycle=tuple(map(blind, guided.cycle)),
                opening=tuple(map(blind, guided.opening)),
                fallback=blind(guided.fallback),
            )
        ),
        "guided without repair": Entry(replace(guided, repair=False)),
        "guided without cells": Entry(replace(guided, population=SingleBest)),
        "guided without credit": Entry(replace(guided, adaptive=False)),
        "guided without experience": Entry(guided, experience="all"),
        "guided, no experience of the same kind": Entry(guided, experience="family"),
        "guided without tuning": Entry(guided, tunes=False),
        "guided, look-ahead 4": Entry(replace(guided, lookahead=4)),
        "free without tuning": Entry(rivals["free"], tunes=False),
    }


def run(
    method: Method,
    number: int,
    seed: int,
    trials: int,
    noise: Noise,
    folder: Path,
    lessons: tuple[Lesson, ...] = (),
    evaluations: int = 0,
) -> Outcome:
    """One method on one problem."""
    landscape = Landscape(number)
    task = landscape.task()
    identity = f"{method.name}-{number}-{seed}"
    judge = LandscapeJudge(landscape)
    with Archive(folder / "archive.db") as archive:
        record = archive.create_run(
            id=identity, problem=task.name, method=method.name, proposer="noisy-engineer", device=task.device,
            seed=seed, trials=trials, settings={}, task=task.to_json(), environment={},
        )  # fmt: skip
        journal = RunJournal(archive, record)
        state = SearchState(method, task, seed, lessons)
        loop = Loop(
            run=identity,
            state=state,
            journal=journal,
            proposer=NoisyEngineer(RULES, treats(landscape.kind), noise, LandscapeCraft()),
            judge=judge,
            budget=Budget(trials=trials),
            options=LoopOptions(workers=1),
        )
        progress = loop.run().progress
        best = progress.best
        assert best is not None
        if evaluations:
            tuned = tune(
                state.fastest,
                evaluations,
                seed,
                judge,
                journal,
                stopped=lambda: False,
                on_tuned=lambda each: None,
            )
            best = tuned if tuned is not None and tuned.time_us < best.time_us else best
    assert best.speedup is not None
    return Outcome(progress.valid / max(1, progress.trials), math.log(best.speedup))


def schooling(noise: Noise, trials: int) -> list[Proof]:
    """What runs of `free` on other problems prove."""
    method, _ = find_method("free")
    proofs: list[Proof] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in SCHOOL:
            run(method, number, 0, trials, noise, Path(folder))
        with Archive(Path(folder) / "archive.db") as archive:
            for number in SCHOOL:
                proofs += proofs_of(archive, archive.run(f"free-{number}-0"))
    return proofs


def lessons_for(proofs: Iterable[Proof], number: int, leave_out: str) -> tuple[Lesson, ...]:
    """What a run on a problem may know."""
    task = Landscape(number).task()
    if leave_out == "all":
        return ()
    # A made-up problem has the reference of its kind, which would hide its whole kind.
    return snapshot(
        proofs,
        problem=task.name,
        family=family_of(task.name),
        reference=reference_digest(task.name),
        leave_out=leave_out,
    )


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
    parser.add_argument("--tune", type=int, default=10)
    parser.add_argument("--broken", type=float, default=0.4)
    parser.add_argument(
        "--only", default="", help="rows of the table, with semicolons between; guided is always there"
    )
    options = parser.parse_args(arguments)
    noise = Noise(broken=options.broken)
    chosen = {"guided", *options.only.split(";")}
    rows = {name: entry for name, entry in entries().items() if not options.only or name in chosen}
    proofs = schooling(noise, options.trials)
    results: dict[str, list[list[Outcome]]] = {}
    for name, entry in rows.items():
        with tempfile.TemporaryDirectory() as folder:
            results[name] = [
                [
                    run(
                        entry.method, number, seed, options.trials, noise, Path(folder),
                        lessons_for(proofs, number, entry.experience), options.tune * entry.tunes,
                    )
                    for seed in range(options.first, options.first + options.seeds)
                ]
                for number in range(options.first, options.first + options.problems)
            ]  # fmt: skip
        print(f"{name}: done", file=sys.stderr, flush=True)
    print(
        f"{options.problems} problems from {options.first}, {options.seeds} seeds, {options.trials} trials, "
        f"{options.tune} evaluations of the tuner, {noise}\n"
    )
    print(table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
