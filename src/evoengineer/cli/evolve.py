"""`evoengineer evolve PROBLEM` and `evoengineer resume RUN`: search for a faster kernel."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoengineer.cli.interrupts import interruptible
from evoengineer.cli.run_options import add_archive, add_settings, given_settings

if TYPE_CHECKING:
    from evoengineer.cli import Parser
    from evoengineer.experiment.run import Run


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    """Declare `evolve` and `resume`."""
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
    """Make a run and work through it."""
    from evoengineer.experiment.evolving import archive_file, new_settings
    from evoengineer.experiment.run import Run

    settings = new_settings(given_settings(options), options.config)
    run = Run.create(settings, archive_file(options.archive), options.name)
    return _run_to_end(run, {}, plain=options.plain)


def resume_command(options: argparse.Namespace) -> int:
    """Work through a run that is in the archive."""
    from evoengineer.experiment.evolving import load_run

    run = load_run(options.run, archive=options.archive)
    return _run_to_end(run, given_settings(options), plain=options.plain)


def _run_to_end(run: Run, changes: Mapping[str, Any], *, plain: bool) -> int:
    """The exit code is 0 unless the run was cut short by the user, or by a failure of the proposer or the machine."""
    from evoengineer.archive.store import Archive
    from evoengineer.report.export import write_best
    from evoengineer.report.summary import no_baseline_text, summary_text
    from evoengineer.report.view import open_view
    from evoengineer.search.endings import Ending

    record = run.record
    title = f"{run.id}: {record.problem}, {record.method}, {record.proposer}, {record.device}"
    view = open_view(title, plain=plain)
    view.say(title)
    if not record.task.get("baseline"):
        view.say(no_baseline_text(record.problem))
    with view, interruptible() as on_loop:
        result = run.work(changes, observer=view, on_loop=on_loop)
    with Archive(run.archive) as archive:
        path = write_best(archive, run.id)
    best = run.best
    print(summary_text(run.summary, path, best.verdict.timing if best else None), flush=True)
    if result.ending is Ending.INTERRUPTED:
        print(f"  continue with: evoengineer resume {run.id}")
        return 128 + signal.SIGINT
    return 1 if result.ending.gave_up else 0
