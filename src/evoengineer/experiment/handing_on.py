"""Handing on: trials that runs near the speed of light did not need, for runs that have room.

Exact budgets are the default of a bench; this is asked for (`--hand-on`) and reported. What was handed on before, by an
earlier session of the same bench, counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from evoengineer.archive import reading
from evoengineer.archive.store import Archive
from evoengineer.search.endings import Ending


def shares(archive: Archive, budgets: Sequence[tuple[str, int]]) -> dict[str, int]:
    """Trials to add, by run. `budgets`: runs with the trials that each was given first.

    Runs that used up their trials get equal parts; those farthest from the light get what does not divide.
    """
    left = 0
    takers: list[tuple[float, str]] = []
    for name, budget in budgets:
        summary = reading.summary(archive, name)
        left -= max(0, summary.run.trials - budget)
        if summary.run.ending == Ending.ENOUGH:
            left += max(0, budget - summary.trials)
        elif summary.run.ending == Ending.FINISHED:
            takers.append((_light_share(archive, name), name))
    if left <= 0 or not takers:
        return {}
    each, rest = divmod(left, len(takers))
    parts = {name: each + (place < rest) for place, (_, name) in enumerate(sorted(takers))}
    return {name: part for name, part in parts.items() if part}


def _light_share(archive: Archive, run: str) -> float:
    """Of the best kernel; 0 where the light is not known, so that the run counts as having room."""
    verdict = reading.best_verdict(archive, run)
    timing = None if verdict is None else verdict.timing
    if timing is None or timing.speed_of_light_us is None:
        return 0.0
    return timing.speed_of_light_us / timing.time_us
