"""`evoengineer bench`: an experiment, methods × models × problems × repeats, under one total budget.

Every cell is an ordinary run with a name of its own, so the experiment is resumed by giving the command
again: finished runs are skipped, others continue.
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evoengineer.cli.run_options import add_archive, add_settings, archive_path, given_settings
from evoengineer.errors import EvoEngineerError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from evoengineer.cli import Parser
    from evoengineer.judge.protocol import Judge
    from evoengineer.propose.protocol import Proposer
    from evoengineer.search.endings import Result
    from evoengineer.search.loop import Loop
    from evoengineer.search.settings import Settings

_PER_CELL = (
    "method",
    "model",
    "replay",
    "rewriter",
    "match",
    "record",
    "max_cost",
    "max_tokens_total",
    "max_seconds",
)


@dataclass(frozen=True, slots=True)
class Cell:
    name: str
    settings: Settings


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    bench = groups.add_parser(
        "bench",
        help="compare methods and models over a suite of problems",
        epilog="Give the same command again to resume: finished runs are skipped.",
    )
    bench.add_argument(
        "--suite", default="kernels91", metavar="NAME", help="which problems (default kernels91)"
    )
    bench.add_argument("--problems", metavar="P,…", help="only these problems, by name or the end of it")
    bench.add_argument(
        "--methods", default="free,insight,full", metavar="M,…", help="default free,insight,full"
    )
    bench.add_argument(
        "--models", default="rewriter", metavar="M,…", help="models, or rewriter (the default)"
    )
    bench.add_argument(
        "--repeats", type=int, default=1, metavar="R", help="runs per cell; repeat r has seed S + r"
    )
    bench.add_argument(
        "--name", default="bench", metavar="NAME", help="runs are called NAME/… (default bench)"
    )
    bench.add_argument("--jobs", type=int, metavar="N", help="runs at once (default: one per core)")
    bench.add_argument("--max-cost", type=float, metavar="USD", help="US dollars for the whole experiment")
    bench.add_argument("--max-tokens-total", type=int, metavar="N", help="tokens for the whole experiment")
    bench.add_argument("--max-seconds", type=float, metavar="S", help="wall time for the whole experiment")
    bench.add_argument("--table", action="store_true", help="only print the table of what has been run")
    add_settings(bench, without=_PER_CELL)
    add_archive(bench)
    bench.set_defaults(command=bench_command)


def bench_command(options: argparse.Namespace) -> int:
    cells = _cells(options)
    if not options.table:
        code = _Bench(options, cells).run()
        _print_table(archive_path(options), cells)
        return code
    _print_table(archive_path(options), cells)
    return 0


def _cells(options: argparse.Namespace) -> list[Cell]:
    from evoengineer.search.methods import find_method
    from evoengineer.search.settings import resolve

    if options.repeats < 1:
        raise UsageError(f"--repeats must be at least 1, not {options.repeats}")
    given = {name: value for name, value in given_settings(options).items() if name not in _PER_CELL}
    cells = []
    for problem in _problems(options.suite, options.problems):
        for method in _words(options.methods, "--methods"):
            find_method(method)
            for model in _words(options.models, "--models"):
                chosen: dict[str, Any] = {"rewriter": True} if model == "rewriter" else {"model": model}
                settings = resolve({**given, **chosen, "problem": problem, "method": method})
                for repeat in range(options.repeats):
                    name = "/".join(
                        (
                            options.name,
                            problem,
                            method.replace("/", "_"),
                            model.replace("/", "_"),
                            str(repeat),
                        )
                    )
                    cells.append(Cell(name, replace(settings, seed=settings.seed + repeat)))
    return cells


def _words(text: str, flag: str) -> list[str]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise UsageError(f"{flag} is empty")
    return words


def _problems(suite: str, chosen: str | None) -> list[str]:
    from evoengineer.problem.catalog import shipped

    every = [name for name in shipped() if name.startswith(f"{suite}/")] or (
        [name for name in shipped() if "/" not in name] if suite == "starter" else []
    )
    if not every:
        suites = sorted({name.partition("/")[0] for name in shipped() if "/" in name} | {"starter"})
        raise UsageError(f"no suite {suite!r}; there are: {', '.join(suites)}")
    if chosen is None:
        return every
    found = []
    for word in _words(chosen, "--problems"):
        matching = [name for name in every if name == word or name.endswith(f"/{word}")]
        if not matching:
            raise UsageError(f"no problem {word!r} in suite {suite}; `evoengineer problems` lists them")
        found += matching
    return list(dict.fromkeys(found))


class _Bench:
    """Works through the cells, problem by problem, with shared judges and proposers."""

    def __init__(self, options: argparse.Namespace, cells: list[Cell]) -> None:
        from evoengineer.search.budget import Budget

        self.path = archive_path(options)
        self.cells = cells
        self.jobs: int = options.jobs or os.cpu_count() or 1
        self.total = Budget(
            tokens=options.max_tokens_total, usd=options.max_cost, seconds=options.max_seconds
        )
        self.capped = options.max_cost
        self._lock = threading.Lock()
        self._loops: set[Loop] = set()
        self._stopping = False
        self._proposers: dict[str, Proposer] = {}
        self._judges: dict[str, Judge] = {}
        self._left: dict[str, int] = {}
        self._failed = 0

    def run(self) -> int:
        from concurrent.futures import ThreadPoolExecutor

        from evoengineer.experiment.run import proposer_name

        for cell in self.cells:
            self._left[cell.settings.problem] = self._left.get(cell.settings.problem, 0) + 1
            if proposer_name(cell.settings) not in self._proposers:
                capped = replace(
                    cell.settings, max_cost=self.capped
                )  # the cap is the total's; a price must be known
                self._proposers[proposer_name(cell.settings)] = self._open_proposer(capped)
        try:
            with self._interruptible(), ThreadPoolExecutor(self.jobs) as pool:
                for future in [pool.submit(self._cell, cell) for cell in self.cells]:
                    future.result()
        finally:
            for proposer in self._proposers.values():
                proposer.close()
            for judge in self._judges.values():
                judge.close()
        if self._stopping:
            print("interrupted; give the same command again to continue")
            return 128 + signal.SIGINT
        return 1 if self._failed else 0

    def _open_proposer(self, settings: Settings) -> Proposer:
        from evoengineer.experiment.run import open_proposer

        return open_proposer(settings)

    def _cell(self, cell: Cell) -> None:
        try:
            if not self._stopping:
                self._run_cell(cell)
        except EvoEngineerError as error:
            self._failed += 1
            print(f"{cell.name}: {error}", flush=True)
        finally:
            self._release_judge(cell.settings.problem)

    def _run_cell(self, cell: Cell) -> None:
        from evoengineer.archive.reading import summary
        from evoengineer.archive.store import Archive
        from evoengineer.experiment.run import proposer_name, work_through

        with Archive(self.path) as archive, archive.lock(cell.name):
            run = self._record(archive, cell)
            if run.status == "finished" and run.trials >= cell.settings.trials:
                self._count_finished(summary(archive, run.id))
                return
            result = work_through(
                archive,
                run,
                cell.settings,
                proposer=self._proposers[proposer_name(cell.settings)],
                judge=self._judge(cell.settings),
                total=self.total,
                on_loop=self._note,
            )
            self._report(cell, result)

    def _record(self, archive: Any, cell: Cell) -> Any:
        from evoengineer.experiment.run import create_run

        known = archive.connection.execute("SELECT 1 FROM runs WHERE id = ?", (cell.name,)).fetchone()
        if known is None:
            return create_run(archive, cell.settings, cell.name)
        run = archive.run(cell.name)
        different = [
            name
            for name, value in cell.settings.to_json().items()
            if name in run.settings
            and run.settings[name] != value
            and name not in ("trials", "judge_workers")
        ]
        if different:
            raise UsageError(
                f"there is a run of this name with another {', '.join(different)}: choose another --name"
            )
        if cell.settings.trials > run.trials:
            archive.set_trials(run.id, cell.settings.trials)
            run = archive.run(run.id)
        return run

    def _count_finished(self, done: Any) -> None:
        self.total.use(trials=done.trials, tokens=done.tokens, nano_usd=done.nano_usd)

    def _report(self, cell: Cell, result: Result) -> None:
        progress = result.progress
        best = "no valid kernel" if progress.best is None else f"best {progress.best.speedup or 1.0:.2f}x"
        print(
            f"{cell.name}: {progress.trials} trials, {progress.valid} valid, {best}; {result.ending}: {result.reason}",
            flush=True,
        )

    def _judge(self, settings: Settings) -> Judge:
        """One judge per problem, shared by its runs."""
        from evoengineer.experiment.run import open_judge

        with self._lock:
            if settings.problem not in self._judges:
                self._judges[settings.problem] = open_judge(settings)
            return self._judges[settings.problem]

    def _release_judge(self, problem: str) -> None:
        with self._lock:
            self._left[problem] -= 1
            judge = self._judges.pop(problem, None) if self._left[problem] == 0 else None
        if judge is not None:
            judge.close()

    def _note(self, loop: Loop) -> None:
        with self._lock:
            self._loops.add(loop)
            if self._stopping:
                loop.interrupt()

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        def handle(number: int, frame: object) -> None:
            if self._stopping:
                os._exit(128 + number)
            self._stopping = True
            for loop in tuple(self._loops):
                loop.interrupt()

        previous = signal.signal(signal.SIGINT, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)


def _print_table(path: Path, cells: list[Cell]) -> None:
    from evoengineer.archive.reading import summaries
    from evoengineer.archive.store import Archive
    from evoengineer.report.paper_table import paper_table

    names = {cell.name for cell in cells}
    with Archive(path, create=False) as archive:
        found = [each for each in summaries(archive) if each.run.id in names]
    print(paper_table(found) if found else "nothing has been run yet")
