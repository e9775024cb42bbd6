"""`evoengineer archive check|recover`: a damaged archive, and what can be saved of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.cli.run_options import add_archive

if TYPE_CHECKING:
    from evoengineer.cli import Parser


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    """Declare `archive`."""
    archive = groups.add_parser("archive", help="check an archive of runs, or save what a damaged one holds")
    verbs = archive.add_subparsers(metavar="WHAT", required=True, parser_class=type(archive))
    check = verbs.add_parser("check", help="read all of it and say what is damaged; it is not changed")
    add_archive(check)
    check.set_defaults(command=check_command)
    recover = verbs.add_parser("recover", help="write what can be read into a new archive")
    recover.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="the new archive (default: beside the old one, …-recovered.db)",
    )
    add_archive(recover)
    recover.set_defaults(command=recover_command)


def check_command(options: argparse.Namespace) -> int:
    """Exit code 1 if anything is wrong."""
    from evoengineer.archive.recovery import check
    from evoengineer.experiment.evolving import archive_file

    path = archive_file(options.archive)
    findings = check(path)
    for finding in findings:
        print(f"{path}: {finding}")
    if findings:
        print("`evoengineer archive recover` writes what can be read into a new archive")
    else:
        print(f"{path}: whole")
    return 1 if findings else 0


def recover_command(options: argparse.Namespace) -> int:
    """Say what came over and what did not."""
    from evoengineer.archive.recovery import recover
    from evoengineer.experiment.evolving import archive_file

    path = archive_file(options.archive)
    output = options.output or path.with_name(f"{path.stem}-recovered{path.suffix}")
    found = recover(path, output)
    print(
        f"{output}: {', '.join(f'{count} {table}' for table, count in found.rows.items() if count) or 'nothing'}"
    )
    if found.lost:
        print(f"not all could be read of: {', '.join(found.lost)}")
    print(f"runs: {', '.join(found.runs) or 'none'}")
    return 0
