"""`evoengineer bench`: methods × models × problems × repeats, under one total budget, and the table of it."""

from __future__ import annotations

import argparse
import signal
from typing import TYPE_CHECKING

from evoengineer.cli.interrupts import interruptible
from evoengineer.cli.numbers import real, whole
from evoengineer.cli.run_options import add_archive, add_settings, given_settings
from evoengineer.errors import EvoEngineerError, UsageError

if TYPE_CHECKING:
    from evoengineer.cli import Parser
    from evoengineer.experiment.bench import Bench, Cell
    from evoengineer.search.endings import Result

# Each cell has its own, or the limits hold for the whole experiment.
_PER_CELL = (
    "method", "model", "replay", "rewriter", "match", "record", "max_cost", "max_tokens_total", "max_seconds",
)  # fmt: skip


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    """Declare `bench`."""
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
    bench.add_argument("--table", action="store_true", help="only print the table of what has been run")
    add_settings(bench, without=_PER_CELL)
    add_archive(bench)
    bench.set_defaults(command=bench_command)


def bench_command(options: argparse.Namespace) -> int:
    """Run what has not been run, then print the table."""
    from evoengineer.report.paper_table import paper_table

    bench = _bench(options)
    if not options.table:
        with interruptible() as on_work:
            on_work(bench)
            bench.run()
    found = bench.summaries()
    if bench.interrupted:
        print("interrupted; give the same command again to continue")
    print(paper_table(found) if found else "nothing has been run yet")
    if bench.interrupted:
        return 128 + signal.SIGINT
    return 1 if bench.failed else 0


def _bench(options: argparse.Namespace) -> Bench:
    from evoengineer.experiment.bench import Bench, make_cells
    from evoengineer.experiment.evolving import archive_file
    from evoengineer.problem.catalog import select
    from evoengineer.search.budget import Budget

    names = [] if options.problems is None else _words(options.problems, "--problems")
    settings = {name: value for name, value in given_settings(options).items() if name not in _PER_CELL}
    cells = make_cells(
        options.name,
        select(options.suite, names),
        _words(options.methods, "--methods"),
        _words(options.models, "--models"),
        options.repeats,
        settings,
    )
    total = Budget(tokens=options.max_tokens_total, usd=options.max_cost, seconds=options.max_seconds)
    return Bench(archive_file(options.archive), cells, jobs=options.jobs, total=total, on_cell=_print_cell)


def _words(text: str, flag: str) -> list[str]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise UsageError(f"{flag} is empty")
    return words


def _print_cell(cell: Cell, result: Result | EvoEngineerError) -> None:
    if isinstance(result, EvoEngineerError):
        print(f"{cell.name}: {result}", flush=True)
        return
    progress = result.progress
    best = "no valid kernel" if progress.best is None else f"best {progress.best.speedup or 1.0:.2f}x"
    print(
        f"{cell.name}: {progress.trials} trials, {progress.valid} valid, {best}; {result.ending}: {result.reason}",
        flush=True,
    )
