"""`evoengineer evolve PROBLEM` and `evoengineer resume RUN`: search for a faster kernel."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoengineer.cli.run_options import add_archive, add_settings, archive_path, given_settings
from evoengineer.errors import UsageError

if TYPE_CHECKING:
    from types import FrameType

    from evoengineer.archive.store import Archive, RunRecord
    from evoengineer.cli import Parser
    from evoengineer.search.loop import Loop
    from evoengineer.search.settings import Settings


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    evolve = groups.add_parser(
        "evolve",
        help="search for a faster kernel",
        epilog="Ctrl-C finishes cleanly: what was paid for is judged and kept. Press it again to leave at once; "
        "`evoengineer resume` continues either way.",
    )
    evolve.add_argument("problem", nargs="?", help="a name, a folder with problem.py, or a KernelBench file")
    evolve.add_argument(
        "--config", type=Path, metavar="FILE", help="a run.toml with settings; flags win over it"
    )
    evolve.add_argument("--name", metavar="RUN", help="name of the run (default: made up)")
    add_settings(evolve)
    add_archive(evolve)
    evolve.add_argument("--plain", action="store_true", help="plain lines, also in a terminal")
    evolve.set_defaults(command=evolve_command)

    resume = groups.add_parser(
        "resume", help="continue a run that was interrupted, or extend one that is finished"
    )
    resume.add_argument("run", metavar="RUN", help="a run's name or the beginning of it")
    add_settings(resume, only_resume=True)
    add_archive(resume)
    resume.add_argument("--plain", action="store_true", help="plain lines, also in a terminal")
    resume.set_defaults(command=resume_command)


def evolve_command(options: argparse.Namespace) -> int:
    from evoengineer.archive.store import Archive
    from evoengineer.experiment.run import create_run, resolved_method
    from evoengineer.search.settings import read_file, resolve

    file = read_file(options.config) if options.config else {}
    settings = resolve(
        given_settings(options), file, f"settings {options.config}: " if options.config else ""
    )
    resolved_method(settings)  # a wrong name is refused before anything is opened
    check_files(settings)
    settings = with_absolute_paths(settings)
    with Archive(archive_path(options)) as archive:
        run = create_run(archive, settings, options.name)
        return run_to_end(archive, run, settings, plain=options.plain)


def resume_command(options: argparse.Namespace) -> int:
    from evoengineer.archive.store import Archive
    from evoengineer.experiment.run import changed, settings_of

    with Archive(archive_path(options), create=False) as archive:
        run = archive.run(options.run)
        settings = changed(settings_of(run), given_settings(options))
        if settings.trials < run.trials:
            raise UsageError(
                f"run {run.id} has {run.trials} trials; --trials can only be more, not {settings.trials}"
            )
        check_files(settings)
        if settings.trials != run.trials:
            archive.set_trials(run.id, settings.trials)
            run = archive.run(run.id)
        return run_to_end(archive, run, settings, plain=options.plain)


def check_files(settings: Settings) -> None:
    """Files that a run needs, before anything costs time."""
    for name in ("replay", "prices", "baseline"):
        value = getattr(settings, name)
        if value is not None and not Path(value).is_file():
            raise UsageError(f"{name} {value}: no such file")


def with_absolute_paths(settings: Settings) -> Settings:
    """So that a run can be resumed from another folder."""
    changes: dict[str, Any] = {}
    for name in ("replay", "prices", "baseline", "record"):
        value = getattr(settings, name)
        if value is not None:
            changes[name] = str(Path(value).resolve())
    if Path(settings.problem).exists():
        changes["problem"] = str(Path(settings.problem).resolve())
    file, colon, attribute = settings.method.rpartition(":")
    if colon and file.endswith(".py"):
        changes["method"] = f"{Path(file).resolve()}:{attribute}"
    return replace(settings, **changes)


def run_to_end(archive: Archive, run: RunRecord, settings: Settings, *, plain: bool) -> int:
    """Work through a run with a view; the exit code is 0 when it has a valid kernel and was not cut short by
    the proposer's failure."""
    from evoengineer.archive.reading import summary
    from evoengineer.experiment.run import open_judge, open_proposer, work_through
    from evoengineer.report.export import write_best
    from evoengineer.report.summary import summary_text
    from evoengineer.report.view import open_view
    from evoengineer.search.endings import Ending

    title = f"{run.id}: {run.problem}, {run.method}, {run.proposer}, {run.device}"
    with archive.lock(run.id):
        proposer = open_proposer(settings)
        judge = open_judge(settings)
        try:
            view = open_view(title, plain=plain)
            view.say(title)
            with view, interruptible() as on_loop:
                result = work_through(
                    archive, run, settings, proposer=proposer, judge=judge, observer=view, on_loop=on_loop
                )
        finally:
            proposer.close()
            judge.close()
    path = write_best(archive, run.id)
    print(summary_text(summary(archive, run.id), path), flush=True)
    if result.ending is Ending.INTERRUPTED:
        print(f"  continue with: evoengineer resume {run.id}")
        return 128 + signal.SIGINT
    return 1 if result.ending is Ending.PROPOSER else 0


class _Interrupts:
    """The first Ctrl-C asks the loop to finish, the second leaves at once: the archive has everything."""

    def __init__(self) -> None:
        self.loop: Loop | None = None
        self.count = 0

    def __call__(self, loop: Loop) -> None:
        self.loop = loop

    def handle(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count > 1 or self.loop is None:
            sys.stdout.flush()
            os._exit(128 + number)
        self.loop.interrupt()


@contextmanager
def interruptible() -> Iterator[_Interrupts]:
    interrupts = _Interrupts()
    previous = {
        number: signal.signal(number, interrupts.handle) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield interrupts
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
