"""`evoengineer archive check|recover|merge`: archives as files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.cli.run_options import add_archive

if TYPE_CHECKING:
    from evoengineer.cli import Parser


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    """Declare `archive` and what it can do."""
    archive = groups.add_parser(
        "archive", help="check archives of runs, save what a damaged one holds, merge them"
    )
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
    add_merge(verbs)


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
    output = options.output or path.parent / f"{path.stem}-recovered{path.suffix}"
    found = recover(path, output)
    print(
        f"{output}: {', '.join(f'{count} {table}' for table, count in found.rows.items() if count) or 'nothing'}"
    )
    if found.lost:
        print(f"not all could be read of: {', '.join(found.lost)}")
    print(f"runs: {', '.join(found.runs) or 'none'}")
    return 0


def add_merge(commands: argparse._SubParsersAction[Parser]) -> None:
    """Declare `archive merge`."""
    merge = commands.add_parser(
        "merge",
        help="bring the runs of other archives into one",
        epilog="Merging again changes nothing. A run that went further in one of the files is brought up to date.",
    )
    merge.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="archives to read; their runs stay there"
    )
    add_archive(merge)
    merge.set_defaults(command=merge_command)


def merge_command(options: argparse.Namespace) -> int:
    """Merge one file after the other, and say what came of each."""
    from evoengineer.archive.merge import merge
    from evoengineer.experiment.evolving import archive_file

    target = archive_file(options.archive)
    for file in options.files:
        merged = merge(target, file)
        print(
            f"{file}: {len(merged.added)} runs added, {len(merged.updated)} brought up to date, "
            f"{len(merged.equal)} there already"
        )
    return 0
