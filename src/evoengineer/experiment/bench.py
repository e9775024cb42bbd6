"""Bench: an experiment, methods × models × problems × repeats, under one total budget.

Every cell is an ordinary run with a name of its own, so an experiment that was cut short is taken up by making it
again: finished runs are skipped, others continue.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoengineer.archive.reading import RunSummary, summaries
from evoengineer.archive.store import Archive
from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.experiment import run as running
from evoengineer.experiment.handing_on import shares
from evoengineer.experiment.proposers import open_proposer, proposer_name
from evoengineer.experiment.run import Run
from evoengineer.experiment.tasks import describe
from evoengineer.search.budget import Budget
from evoengineer.search.progress import Progress, Silent
from evoengineer.search.records import Kind, Plan, Settled
from evoengineer.search.settings import Settings, resolve

if TYPE_CHECKING:
    from evoengineer.cluster.pool import Cluster
    from evoengineer.judge.protocol import Judge
    from evoengineer.propose.protocol import Proposer
    from evoengineer.search.endings import Result
    from evoengineer.search.loop import Loop

REWRITER = "rewriter"  # in place of a model's name
_MAY_DIFFER = (
    "trials",
    "judge_workers",
    "cluster",
    "judge_cores",
)  # between a run and the cell that takes it up


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of an experiment."""

    name: str
    settings: Settings


class BenchProgress:
    """How far an experiment is, in trials, and when it may end, by the pace since it was begun or taken up."""

    def __init__(self, cells: int, trials: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.cells, self.trials = cells, trials
        self.cells_done = 0
        self.trials_done = 0
        self._charged = 0  # in this session
        self._clock, self._begun = clock, clock()

    def earlier(self, trials: int) -> None:
        """Trials of earlier sessions, which took none of this one's time."""
        self.trials_done += trials

    def charged(self) -> None:
        """A trial has been settled."""
        self.trials_done += 1
        self._charged += 1

    def cell_done(self, trials: int, budget: int) -> None:
        """A cell that ended early leaves trials that will not be needed."""
        self.cells_done += 1
        self.trials -= max(0, budget - trials)

    def extended(self, cells: int, trials: int) -> None:
        """Cells go on with further trials."""
        self.cells += cells
        self.trials += trials

    @property
    def seconds_left(self) -> float | None:
        """None until the first trial."""
        if not self._charged:
            return None
        return (self._clock() - self._begun) / self._charged * max(0, self.trials - self.trials_done)


def make_cells(
    name: str,
    problems: Sequence[str],
    methods: Sequence[str],
    models: Sequence[str],
    repeats: int = 1,
    settings: Mapping[str, Any] | None = None,
) -> list[Cell]:
    """The matrix, problem by problem. Repeat r has the settings' seed + r."""
    if repeats < 1:
        raise UsageError(f"repeats must be at least 1, not {repeats}")
    cells = []
    for problem in problems:
        for method in methods:
            for model in models:
                proposer = {"rewriter": True} if model == REWRITER else {"model": model}
                chosen = resolve({**(settings or {}), **proposer, "problem": problem, "method": method})
                running.resolved_method(chosen)  # a wrong name is refused before anything is run
                stem = f"{name}/{problem}/{method.replace('/', '_')}/{model.replace('/', '_')}"
                cells += [
                    Cell(f"{stem}/{repeat}", replace(chosen, seed=chosen.seed + repeat))
                    for repeat in range(repeats)
                ]
    return cells


class Bench:
    """Works through cells with shared judges and proposers.

    `on_cell` is called from several threads with each cell that was worked on and its result, or the error that
    ended it; `on_trial` with a cell and its progress after each trial that was charged.
    """

    def __init__(
        self,
        archive: Path,
        cells: Sequence[Cell],
        *,
        jobs: int | None = None,
        total: Budget | None = None,
        hand_on: bool = False,
        on_cell: Callable[[Cell, Result | EvoEngineerError], None] | None = None,
        on_trial: Callable[[Cell, Progress], None] | None = None,
    ) -> None:
        self.archive = archive
        self.cells = tuple(cells)
        self.jobs = jobs  # None: one per core, of the cluster's or of this machine
        self.total = total or Budget()
        self.hand_on = hand_on
        self.handed_on: dict[str, int] = {}  # trials that runs got from others
        self.failed = 0
        self.interrupted = False
        self.progress = BenchProgress(len(self.cells), sum(cell.settings.trials for cell in self.cells))
        self._on_cell = on_cell
        self._on_trial = on_trial
        self._lock = threading.Lock()
        self._loops: set[Loop] = set()
        self._proposers: dict[str, Proposer] = {}
        self._judges: dict[str, Judge] = {}
        self._cluster: Cluster | None = None
        self._left: dict[str, int] = {}

    def run(self) -> None:
        """Every cell that is not finished yet, `jobs` at a time."""
        limit = self.total.nano_usd.limit
        for cell in self.cells:
            self._left[cell.settings.problem] = self._left.get(cell.settings.problem, 0) + 1
            if proposer_name(cell.settings) not in self._proposers:
                # The cap is the total's, but each price must be known.
                capped = replace(cell.settings, max_cost=None if limit is None else limit / 1e9)
                self._proposers[proposer_name(cell.settings)] = open_proposer(capped)
        try:
            self._cluster = running.open_cluster(self.cells[0].settings) if self.cells else None
            with ThreadPoolExecutor(self.jobs or self._places()) as pool:
                for future in [pool.submit(self._cell, cell) for cell in self.cells]:
                    future.result()
                for future in [pool.submit(self._cell, cell) for cell in self._extended()]:
                    future.result()
        finally:
            for proposer in self._proposers.values():
                proposer.close()
            for judge in self._judges.values():
                judge.close()
            if self._cluster is not None:
                self._cluster.close()

    def _extended(self) -> list[Cell]:
        """Cells that go on with trials which others did not need, if that was asked for."""
        if not self.hand_on or self.interrupted or self.failed:
            return []
        with Archive(self.archive, read_only=True) as archive:
            self.handed_on = shares(archive, [(cell.name, cell.settings.trials) for cell in self.cells])
            given = {name: archive.run(name).trials + more for name, more in self.handed_on.items()}
        further = [
            replace(cell, settings=replace(cell.settings, trials=given[cell.name]))
            for cell in self.cells
            if cell.name in given
        ]
        for cell in further:
            self._left[cell.settings.problem] += 1
        with self._lock:
            self.progress.extended(len(further), sum(self.handed_on.values()))
        return further

    def interrupt(self) -> None:
        """Begin no further cell and end those under way cleanly. Safe in a signal handler."""
        self.interrupted = True
        for loop in tuple(self._loops):
            loop.interrupt()

    def summaries(self) -> list[RunSummary]:
        """What has been run, method by method and model by model in the order in which they were asked for."""
        rows = [(cell.settings.method, proposer_name(cell.settings)) for cell in self.cells]
        order = {row: place for place, row in enumerate(dict.fromkeys(rows))}
        places = {
            cell.name: (order[row], place)
            for place, (cell, row) in enumerate(zip(self.cells, rows, strict=True))
        }
        with Archive(self.archive, read_only=True) as archive:
            found = [each for each in summaries(archive) if each.run.id in places]
        return sorted(found, key=lambda each: places[each.run.id])

    def _cell(self, cell: Cell) -> None:
        try:
            if not self.interrupted:
                self._work(cell)
        except EvoEngineerError as error:
            with self._lock:
                self.failed += 1
                self.progress.cell_done(0, cell.settings.trials)
            self._tell(cell, error)
        finally:
            self._release_judge(cell.settings.problem)

    def _work(self, cell: Cell) -> None:
        run = self._run_of(cell)
        summary = run.summary
        if summary.run.status == "finished" and summary.run.trials >= cell.settings.trials:
            self.total.use(trials=summary.trials, tokens=summary.tokens, nano_usd=summary.nano_usd)
            with self._lock:
                self.progress.earlier(summary.trials)
                self.progress.cell_done(summary.trials, cell.settings.trials)
            return
        with self._lock:
            if cell.name not in self.handed_on:
                self.progress.earlier(summary.trials)
        result = run.work(
            {
                "trials": max(cell.settings.trials, summary.run.trials),
                "judge_workers": cell.settings.judge_workers,
                "cluster": cell.settings.cluster or running.NO_CLUSTER,
                "judge_cores": cell.settings.judge_cores,
            },
            proposer=self._proposers[proposer_name(cell.settings)],
            judge=self._judge(cell.settings),
            total=self.total,
            observer=_Watcher(lambda progress: self._charged(cell, progress)),
            on_loop=self._note,
            learns=False,  # cells must not depend on which of them ended first
        )
        with self._lock:
            self.progress.cell_done(result.progress.trials, cell.settings.trials)
        self._tell(cell, result)

    def _run_of(self, cell: Cell) -> Run:
        """The cell's run, which must have the cell's settings if there is one already."""
        with Archive(self.archive) as archive:
            known = archive.connection.execute("SELECT 1 FROM runs WHERE id = ?", (cell.name,)).fetchone()
            kept = archive.run(cell.name).settings if known else {}
        if not known:
            return Run.create(cell.settings, self.archive, cell.name)
        wanted = running.with_absolute_paths(cell.settings).to_json()
        different = [
            name
            for name, value in wanted.items()
            if name in kept and kept[name] != value and name not in _MAY_DIFFER
        ]
        if different:
            raise UsageError(
                f"there is a run of this name with another {', '.join(different)}: choose another --name"
            )
        return Run(cell.name, self.archive)

    def _charged(self, cell: Cell, progress: Progress) -> None:
        with self._lock:
            self.progress.charged()
        if self._on_trial is not None:
            self._on_trial(cell, progress)

    def _tell(self, cell: Cell, result: Result | EvoEngineerError) -> None:
        if self._on_cell is not None:
            self._on_cell(cell, result)

    def _judge(self, settings: Settings) -> Judge:
        """One judge per problem, shared by its runs."""
        with self._lock:
            if settings.problem not in self._judges:
                self._judges[settings.problem] = self._open_judge(settings)
            return self._judges[settings.problem]

    def _open_judge(self, settings: Settings) -> Judge:
        if self._cluster is None:
            return running.open_judge(settings)
        from evoengineer.cluster.pool import ClusterPool

        return ClusterPool(self._cluster, describe(settings))

    def _places(self) -> int:
        here = os.cpu_count() or 1
        return here if self._cluster is None else max(here, self._cluster.standing.places)

    def _release_judge(self, problem: str) -> None:
        with self._lock:
            self._left[problem] -= 1
            judge = self._judges.pop(problem, None) if self._left[problem] == 0 else None
        if judge is not None:
            judge.close()

    def _note(self, loop: Loop) -> None:
        with self._lock:
            self._loops.add(loop)
            if self.interrupted:
                loop.interrupt()


class _Watcher(Silent):
    """Watches a run for trials that are charged."""

    def __init__(self, on_trial: Callable[[Progress], None]) -> None:
        self._on_trial = on_trial

    def settled(self, plan: Plan | None, settled: Settled, progress: Progress) -> None:
        if plan is not None and settled.kind is Kind.TRIAL:
            self._on_trial(progress)
