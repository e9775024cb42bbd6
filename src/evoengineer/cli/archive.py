"""`evoengineer archive …`: archives as files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.cli.run_options import add_archive

if TYPE_CHECKING:
    from evoengineer.cli import Parser


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    """Declare `archive merge`."""
    archive = groups.add_parser("archive", help="archives of runs as files")
    commands = archive.add_subparsers(metavar="COMMAND", required=True, parser_class=type(archive))
    add_merge(commands)


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
