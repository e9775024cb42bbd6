"""`evoengineer bench`: methods × models × problems × repeats, under one total budget, and the table of it."""

from __future__ import annotations

import argparse
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoengineer.cli.interrupts import interruptible
from evoengineer.cli.numbers import real, whole
from evoengineer.cli.run_options import add_archive, add_settings, given_settings
from evoengineer.errors import EvoEngineerError, UsageError

if TYPE_CHECKING:
    from evoengineer.cli import Parser
    from evoengineer.experiment.bench import Bench, Cell
    from evoengineer.search.endings import Result
    from evoengineer.search.progress import Progress

_METHODS = "free,insight,full"
# Each cell has its own, or the limits hold for the whole experiment.
_PER_CELL = (
    "method", "model", "escalate", "replay", "rewriter", "match", "record", "max_cost", "max_tokens_total",
    "max_seconds",
)  # fmt: skip


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    """Declare `bench`."""
    bench = groups.add_parser(
        "bench",
        help="compare methods and models over a suite of problems",
        epilog="Give the same command again to resume: finished runs are skipped.",
    )
    bench.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="a run.toml for all runs; its problem, method, model and limits stand in for the flags below",
    )
    bench.add_argument(
        "--suite", default="kernels91", metavar="NAME", help="which problems (default kernels91)"
    )
    bench.add_argument("--problems", metavar="P,…", help="only these problems, by name or the end of it")
    bench.add_argument("--methods", metavar="M,…", help=f"default {_METHODS}")
    bench.add_argument("--models", metavar="M,…", help="models, or rewriter (the default)")
    bench.add_argument(
        "--repeats",
        type=whole(1, 10_000),
        default=1,
        metavar="R",
        help="runs per cell; repeat r has seed S + r",
    )
    bench.add_argument(
        "--name", default="bench", metavar="NAME", help="runs are called NAME/… (default bench)"
    )
    bench.add_argument(
        "--jobs", type=whole(1, 1024), metavar="N", help="runs at once (default: one per core)"
    )
    bench.add_argument("--max-cost", type=real(), metavar="USD", help="US dollars for the whole experiment")
    bench.add_argument(
        "--max-tokens-total", type=whole(1), metavar="N", help="tokens for the whole experiment"
    )
    bench.add_argument("--max-seconds", type=real(), metavar="S", help="wall time for the whole experiment")
    bench.add_argument(
        "--hand-on",
        action="store_true",
        help="give the trials that --enough saves to the runs that used up theirs (default: exact budgets)",
    )
    bench.add_argument("--table", action="store_true", help="only print the table of what has been run")
    bench.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="where the report is written at the end (default: reports/NAME beside the archive)",
    )
    add_settings(bench, without=_PER_CELL)
    add_archive(bench)
    bench.set_defaults(command=bench_command)


def bench_command(options: argparse.Namespace) -> int:
    """Run what has not been run, then print the table and write the report."""
    from evoengineer.report.paper_table import paper_table

    printer = _Printer()
    bench = printer.bench = _bench(options, printer)
    if not options.table:
        with interruptible() as on_work:
            on_work(bench)
            bench.run()
    found = bench.summaries()
    for name, trials in bench.handed_on.items():
        print(f"handed on to {name}: {trials} trials that others did not need")
    if bench.interrupted:
        print("interrupted; give the same command again to continue")
    print(paper_table(found) if found else "nothing has been run yet")
    if bench.interrupted:
        return 128 + signal.SIGINT
    if found and not options.table:
        _write_report(options, [each.run.id for each in found])
    return 1 if bench.failed else 0


def _write_report(options: argparse.Namespace, runs: list[str]) -> None:
    """Rows are in the order of the command line, not of completion."""
    from evoengineer.experiment.evolving import archive_file
    from evoengineer.experiment.reporting import gather
    from evoengineer.report.writing import write_report

    archive = archive_file(options.archive)
    folder = options.out or archive.parent / "reports" / options.name
    try:
        written = write_report(
            gather([(archive, tuple(runs))], f"Bench {options.name}", run_files=True), folder
        )
    except OSError as error:
        raise EvoEngineerError(f"--out {folder}: {error.strerror or error}") from error
    print(f"report: {written[0]}")


def _bench(options: argparse.Namespace, printer: _Printer) -> Bench:
    from evoengineer.experiment.bench import Bench, make_cells
    from evoengineer.experiment.evolving import archive_file
    from evoengineer.problem.catalog import select
    from evoengineer.search.budget import Budget

    file = _file_settings(options)
    names = [] if options.problems is None else _words(options.problems, "--problems")
    settings = {
        name: value
        for name, value in {**file, **given_settings(options)}.items()
        if name not in ("problem", *_PER_CELL)
    }
    cells = make_cells(
        options.name,
        [file["problem"]] if "problem" in file and not names else select(options.suite, names),
        _words(options.methods or file.get("method") or _METHODS, "--methods"),
        _words(options.models or file.get("model") or "rewriter", "--models"),
        options.repeats,
        settings,
    )
    if options.hand_on and any(cell.settings.enough is None for cell in cells):
        raise UsageError(
            "--hand-on gives away what --enough saves: say how much is enough, e.g. --enough 0.95"
        )
    limits = {
        name: given if (given := getattr(options, name)) is not None else file.get(name)
        for name in ("max_tokens_total", "max_cost", "max_seconds")
    }
    total = Budget(tokens=limits["max_tokens_total"], usd=limits["max_cost"], seconds=limits["max_seconds"])
    return Bench(
        archive_file(options.archive),
        cells,
        jobs=options.jobs,
        total=total,
        hand_on=options.hand_on,
        on_cell=printer.cell,
        on_trial=printer.trial,
    )


def _file_settings(options: argparse.Namespace) -> dict[str, Any]:
    from evoengineer.search.settings import read_file

    file = read_file(options.config) if options.config is not None else {}
    for name in ("replay", "record", "match"):
        if name in file:
            raise UsageError(f"settings {options.config}: a bench cannot use {name}")
    return file


def _words(text: str, flag: str) -> list[str]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise UsageError(f"{flag} is empty")
    return words


class _Printer:
    """A line for each quarter of a cell and for its end, with what is left of the whole."""

    def __init__(self) -> None:
        self.bench: Bench | None = None
        self._lock = threading.Lock()

    def trial(self, cell: Cell, progress: Progress) -> None:
        quarter = max(1, cell.settings.trials // 4)
        if progress.trials % quarter == 0 and progress.trials < cell.settings.trials:
            self._say(cell, f"{progress.trials} of {cell.settings.trials} trials, {_best(progress)}")

    def cell(self, cell: Cell, result: Result | EvoEngineerError) -> None:
        if isinstance(result, EvoEngineerError):
            self._say(cell, str(result))
            return
        progress = result.progress
        done = f"{progress.trials} trials, {progress.valid} valid, {_best(progress)}"
        self._say(cell, f"{done}; {result.ending}: {result.reason}")

    def _say(self, cell: Cell, text: str) -> None:
        from evoengineer.report.text import duration

        assert self.bench is not None
        whole = self.bench.progress
        left = whole.seconds_left
        soon = "" if left is None or self.bench.interrupted else f"; about {duration(left)} left"
        with self._lock:
            print(f"[{whole.cells_done}/{whole.cells}] {cell.name}: {text}{soon}", flush=True)


def _best(progress: Progress) -> str:
    return "no valid kernel" if progress.best is None else f"best {progress.best.speedup or 1.0:.2f}x"
