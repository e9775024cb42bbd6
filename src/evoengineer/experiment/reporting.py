"""Gathering a report: which runs, from which archives, with PyTorch's times, and writing it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evoengineer.archive.store import Archive
from evoengineer.card.name import DeviceName
from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.judge.pytorch_estimate import estimates
from evoengineer.report.details import Detail, best_runs, read_detail
from evoengineer.report.facts import RunFacts, read_facts
from evoengineer.report.numbers import PyTorchTime, count
from evoengineer.report.writing import Report

Source = tuple[Path, tuple[str, ...] | None]  # an archive, and its runs that count (None: all)


def find_sources(words: Sequence[str], archive: Path) -> list[Source]:
    """Each word is an archive's file, a run's name, or the name of a bench; none: the whole archive."""
    if not words:
        return [(archive, None)]
    sources: list[Source] = []
    named: list[str] = []
    for word in words:
        if Path(word).is_file():
            sources.append((Path(word), None))
        else:
            with Archive(archive, read_only=True) as opened:
                named += [name for name in _runs_named(opened, word) if name not in named]
    return [*sources, *([(archive, tuple(named))] if named else [])]


def _runs_named(archive: Archive, word: str) -> list[str]:
    """The run of that name, or all of the bench."""
    start = word.rstrip("/") + "/"
    rows = archive.connection.execute("SELECT id FROM runs ORDER BY created_at, id").fetchall()
    bench = [row["id"] for row in rows if row["id"].startswith(start)]
    return bench or [archive.run(word).id]


def gather(sources: Sequence[Source], title: str, *, pytorch: bool = True, run_files: bool = False) -> Report:
    """Read everything that the report says.

    `pytorch`: estimate its time where it was not measured; `run_files`: also by running the files of problems that do
    not ship with EvoEngineer.
    """
    runs: list[RunFacts] = []
    origin: dict[int, Path] = {}
    for path, names in sources:
        with Archive(path, read_only=True) as archive:
            found = read_facts(archive, names)
        origin |= {id(run): path for run in found}
        runs += found
    if not runs:
        raise UsageError("there are no runs to report on: `evoengineer evolve` makes one")
    details: list[Detail] = []
    for best in best_runs(runs):
        with Archive(origin[id(best)], read_only=True) as archive:
            detail = read_detail(archive, best)
        details += [detail] if detail is not None else []
    return Report(title, count(runs, pytorch_times(runs, run_files=run_files) if pytorch else {}), details)


def pytorch_times(runs: Sequence[RunFacts], *, run_files: bool = False) -> dict[tuple[str, str], PyTorchTime]:
    """Estimates for the simulated devices among the runs; none where PyTorch is not installed."""
    found: dict[tuple[str, str], PyTorchTime] = {}
    for device in dict.fromkeys(run.device for run in runs):
        name = DeviceName.parse(device)
        if not name.simulated:
            continue
        problems = {run.problem: run.address for run in runs if run.device == device}
        try:
            times = estimates(problems, name.profile, run_files=run_files)
        except EvoEngineerError:
            return found
        found |= {(problem, device): PyTorchTime(*each, estimated=True) for problem, each in times.items()}
    return found
