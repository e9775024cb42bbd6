"""What the report counts with: a record of figures per run, read from the archive."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evoengineer.archive.reading import RunSummary, summaries, summary

if TYPE_CHECKING:
    from evoengineer.archive.store import Archive


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run in figures. Speedups are over the baseline kernel; None where there is no baseline or nothing valid."""

    id: str
    problem: str
    address: str  # what named the problem: the same, or a path
    family: str
    method: str
    model: str
    device: str
    seed: int
    status: str
    budget: int  # trials that may be charged
    trials: int
    valid: int
    compiled: int
    best_number: int | None
    best_speedup: float | None
    baseline_us: float | None
    best_us: float | None
    best_trial_us: float | None  # fastest valid trial, also if the baseline is faster still
    light_us: float | None
    pytorch_us: float | None  # measured beside the best kernel: on `cuda` only
    pytorch_compiled_us: float | None
    tokens: int
    nano_usd: int
    judge_seconds: float
    curve: tuple[float | None, ...]  # best speedup after trial 0 (the baseline), 1, 2 …

    @property
    def light_reached(self) -> float | None:
        """Share of the speed of light."""
        return self.light_us / self.best_us if self.light_us and self.best_us else None

    @property
    def headroom_closed(self) -> float | None:
        """log(baseline/best) / log(baseline/light); None where the baseline leaves nothing to gain."""
        if not (self.light_us and self.best_us and self.baseline_us) or self.light_us >= self.baseline_us:
            return None
        return math.log(self.baseline_us / self.best_us) / math.log(self.baseline_us / self.light_us)


def read_facts(archive: Archive, runs: Sequence[str] | None = None) -> list[RunFacts]:
    """The runs that are named, in that order, or all of the archive, the oldest first."""
    found = summaries(archive) if runs is None else [summary(archive, name) for name in runs]
    return [_facts(archive, each) for each in found]


def family_of(problem: str) -> str:
    """`kernels91/matmul/square` is of the family `matmul`; other problems are their suite's, or `other`."""
    parts = problem.split("/")
    return parts[-2] if len(parts) > 1 else "other"


def _facts(archive: Archive, totals: RunSummary) -> RunFacts:
    run, db = totals.run, archive.connection
    steps = db.execute(
        "SELECT coalesce(trial, 0), speedup FROM proposals WHERE run = ? AND improved ORDER BY number",
        (run.id,),
    ).fetchall()
    fastest = db.execute(
        "SELECT min(time_us) FROM proposals WHERE run = ? AND kind = 'trial' AND outcome = 'valid'", (run.id,)
    ).fetchone()[0]
    spent = db.execute(
        "SELECT sum(each.value) FROM verdicts, json_each(seconds) each WHERE run = ?", (run.id,)
    ).fetchone()[0]
    times = db.execute(
        "SELECT json_extract(verdict, '$.timing.speed_of_light_us'), json_extract(verdict, '$.timing.pytorch_us'),"
        " json_extract(verdict, '$.timing.pytorch_compiled_us') FROM verdicts WHERE run = ? AND number = ?",
        (run.id, totals.best_number),
    ).fetchone() or (None, None, None)
    return RunFacts(
        id=run.id,
        problem=run.problem,
        address=str(run.settings.get("problem", run.problem)),
        family=family_of(run.problem),
        method=run.method,
        model=run.proposer,
        device=run.device,
        seed=run.seed,
        status=run.status,
        budget=run.trials,
        trials=totals.trials,
        valid=totals.valid,
        compiled=totals.compiled,
        best_number=totals.best_number,
        best_speedup=totals.best_speedup,
        baseline_us=totals.baseline_us,
        best_us=totals.best_us,
        best_trial_us=fastest,
        light_us=times[0],
        pytorch_us=times[1],
        pytorch_compiled_us=times[2],
        tokens=totals.tokens,
        nano_usd=totals.nano_usd,
        judge_seconds=float(spent or 0.0),
        curve=_curve(steps, totals.trials),
    )


def _curve(steps: Sequence[tuple[int, float | None]], trials: int) -> tuple[float | None, ...]:
    values: list[float | None] = [None] * (trials + 1)
    for trial, speedup in steps:
        values[trial] = speedup
    best = None
    for at, value in enumerate(values):
        best = value if value is not None else best
        values[at] = best
    return tuple(values)
