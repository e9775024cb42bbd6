"""Per problem: the best kernel of all runs, its difference to the baseline, its profile and where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evoengineer.archive.reading import proposals, verdict

if TYPE_CHECKING:
    from evoengineer.archive.reading import Proposal
    from evoengineer.archive.store import Archive
    from evoengineer.judge.verdict import Verdict
    from evoengineer.report.facts import RunFacts


@dataclass(frozen=True, slots=True)
class Detail:
    """The best kernel on a problem and device."""

    run: RunFacts
    best: Proposal
    baseline: Proposal | None
    verdict: Verdict | None
    lineage: tuple[Proposal, ...]  # the kernel first, then its ancestors


def read_detail(archive: Archive, run: RunFacts) -> Detail | None:
    """None while the run has nothing valid."""
    every = {each.number: each for each in proposals(archive, run.id)}
    if run.best_number is None or run.best_number not in every:
        return None
    best = every[run.best_number]
    return Detail(run, best, every.get(0), verdict(archive, run.id, best.number), ancestors(best, every))


def ancestors(youngest: Proposal, every: dict[int, Proposal]) -> tuple[Proposal, ...]:
    """A proposal and all it descends from, generation by generation."""
    pending, seen = [youngest.number], dict[int, None]()
    while pending:
        number = pending.pop(0)
        if number not in seen and number in every:
            seen[number] = None
            pending += every[number].parents
    return tuple(every[number] for number in seen)


def best_runs(runs: list[RunFacts]) -> list[RunFacts]:
    """For each problem and device the run with the fastest kernel."""
    best: dict[tuple[str, str], RunFacts] = {}
    for run in runs:
        key = run.problem, run.device
        if run.best_us is not None and (key not in best or run.best_us < (best[key].best_us or 0.0)):
            best[key] = run
    return list(best.values())
