"""The paper's table: methods against each other, over all problems and repeats of an experiment."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import TYPE_CHECKING

from evoengineer.card.name import DeviceName
from evoengineer.report.text import cost, share, table

if TYPE_CHECKING:
    from evoengineer.archive.reading import RunSummary

_HEAD = (
    "METHOD", "MODEL", "RUNS", "TRIALS", "MEDIAN SPEEDUP", "OVER 2x", "FUNCTIONAL", "COMPILE", "TOKENS", "COST",
)  # fmt: skip


def paper_table(summaries: Iterable[RunSummary]) -> str:
    """One row per method and model: the median of the runs' best speedups over the baseline kernel, validity of
    all trials, tokens and cost of all runs."""
    groups: dict[tuple[str, str], list[RunSummary]] = {}
    devices = set()
    for each in summaries:
        groups.setdefault((each.run.method, each.run.proposer), []).append(each)
        devices.add(each.run.device)
    rows = [_HEAD]
    for (method, proposer), runs in groups.items():
        speedups = [each.best_speedup for each in runs if each.best_speedup is not None]
        trials = sum(each.trials for each in runs)
        known = all(each.price_known for each in runs)
        rows.append((
            *(method, proposer, str(len(runs)), str(trials)),
            f"{median(speedups):.2f}" if speedups else "-",
            share(sum(speedup > 2 for speedup in speedups), len(speedups)),
            *(share(sum(each.valid for each in runs), trials), share(sum(each.compiled for each in runs), trials)),
            *(f"{sum(each.tokens for each in runs):,}", cost(sum(each.nano_usd for each in runs), known=known)),
        ))  # fmt: skip
    text = table(rows, right=frozenset(range(2, len(_HEAD))))
    simulated = sorted(device for device in devices if DeviceName.parse(device).simulated)
    return text + (f"\nspeedups are simulated ({', '.join(simulated)})" if simulated else "")
