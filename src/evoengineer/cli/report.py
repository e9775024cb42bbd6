"""`evoengineer report`: the tables, charts and best kernels of runs, as files to look at."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.cli.run_options import add_archive
from evoengineer.errors import EvoEngineerError, UsageError

if TYPE_CHECKING:
    from evoengineer.cli import Parser


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    """Declare `report`."""
    report = groups.add_parser(
        "report", help="tables, charts and best kernels of runs as HTML, Markdown, JSON and CSV"
    )
    report.add_argument(
        "sources",
        nargs="*",
        metavar="RUN|BENCH|ARCHIVE",
        help="a run, the name of a bench, or an archive's file (default: all runs of --archive)",
    )
    report.add_argument(
        "--out", type=Path, default=Path("report"), metavar="DIR", help="the folder (default report)"
    )
    report.add_argument("--title", metavar="TEXT", help="the heading (default: what was asked for)")
    report.add_argument(
        "--no-pytorch", action="store_true", help="do not estimate PyTorch's times on simulated cards"
    )
    report.add_argument(
        "--run-problems",
        action="store_true",
        help="estimate them also for problems of your own, by running the files that the archive names",
    )
    add_archive(report)
    report.set_defaults(command=report_command)


def report_command(options: argparse.Namespace) -> int:
    """Write the files and name them."""
    from evoengineer.experiment.evolving import archive_file
    from evoengineer.experiment.reporting import find_sources, gather
    from evoengineer.report.writing import write_report

    sources = find_sources(options.sources, archive_file(options.archive))
    title = options.title or f"Report on {', '.join(options.sources) or 'all runs'}"
    report = gather(sources, title, pytorch=not options.no_pytorch, run_files=options.run_problems)
    if options.out.exists() and not options.out.is_dir():
        raise UsageError(f"--out {options.out} is not a folder")
    try:
        written = write_report(report, options.out)
    except OSError as error:
        raise EvoEngineerError(f"--out {options.out}: {error.strerror or error}") from error
    for path in written:
        print(path)
    return 0
