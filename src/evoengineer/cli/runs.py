"""`evoengineer runs`, `methods` and `models`: lists."""

from __future__ import annotations

import argparse
import datetime
import json
from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.card.name import DeviceName
from evoengineer.cli.run_options import add_archive
from evoengineer.errors import UsageError
from evoengineer.report.export import best_file

if TYPE_CHECKING:
    from evoengineer.archive.reading import RunSummary
    from evoengineer.archive.store import Archive
    from evoengineer.cli import Parser

_RUNS = (
    "RUN", "PROBLEM", "METHOD", "PROPOSER", "DEVICE", "TRIALS", "VALID", "BEST", "COST", "STATUS", "BEGUN",
)  # fmt: skip


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    """Declare `runs`, `methods` and `models`."""
    runs = groups.add_parser("runs", help="list the runs in the archive")
    runs.add_argument("--problem", metavar="P", help="only runs of this problem")
    runs.add_argument("--json", action="store_true", help="a line of JSON per run")
    add_archive(runs)
    runs.set_defaults(command=runs_command)
    verbs = runs.add_subparsers(metavar="WHAT", parser_class=type(runs))
    delete = verbs.add_parser(
        "delete", help="remove runs from the archive, with their prompts, replies and kernels"
    )
    delete.add_argument("names", nargs="+", metavar="RUN", help="a run's whole name")
    delete.set_defaults(command=delete_command)
    rename = verbs.add_parser("rename", help="give a run another name")
    rename.add_argument("run", metavar="RUN", help="a run's whole name")
    rename.add_argument("name", metavar="NAME", help="the new one")
    rename.set_defaults(command=rename_command)
    note = verbs.add_parser("note", help="keep a line of your own with a run")
    note.add_argument("run", metavar="RUN", help="a run's name or the beginning of it")
    note.add_argument("text", nargs="+", metavar="TEXT", help="the note; '' removes it")
    note.set_defaults(command=note_command)
    for verb in (delete, rename, note):
        verb.add_argument(
            "--archive", type=Path, metavar="FILE", default=argparse.SUPPRESS, help="the archive of runs"
        )

    methods = groups.add_parser("methods", help="list the methods of search")
    methods.set_defaults(command=methods_command)
    models = groups.add_parser("models", help="list the known models and their prices")
    models.set_defaults(command=models_command)


def runs_command(options: argparse.Namespace) -> int:
    """The runs of the archive, as a table or as lines of JSON."""
    from evoengineer.archive.reading import status as status_of
    from evoengineer.archive.reading import summaries
    from evoengineer.archive.store import Archive
    from evoengineer.experiment.evolving import archive_file
    from evoengineer.report.text import cost, speedup_text, table

    with Archive(archive_file(options.archive), read_only=True) as archive:
        found = [each for each in summaries(archive) if options.problem in (None, each.run.problem)]
        rows = [_RUNS]
        for each in found:
            status = status_of(archive, each.run)
            if options.json:
                print(json.dumps(_as_json(each, status)))
            begun = datetime.datetime.fromtimestamp(each.run.created_at).strftime("%Y-%m-%d %H:%M")
            run, price = each.run, cost(each.nano_usd, known=each.price_known)
            rows.append((
                *(run.id, run.problem, run.method, run.proposer, run.device, f"{each.trials}/{run.trials}"),
                *(str(each.valid), speedup_text(each.best_speedup), price, status, begun),
            ))  # fmt: skip
    if not options.json:
        print(table(rows) if found else "no runs yet")
    return 0


def delete_command(options: argparse.Namespace) -> int:
    """Whole names only: what is gone is gone."""
    from evoengineer.archive.managing import delete_run
    from evoengineer.archive.store import Archive
    from evoengineer.experiment.evolving import archive_file

    with Archive(archive_file(options.archive), create=False) as archive:
        for name in options.names:
            _exactly(archive, name)
        for name in options.names:
            with archive.lock(name):
                delete_run(archive, name)
            archive.lock(name).path.unlink(missing_ok=True)
            best_file(archive, name).unlink(missing_ok=True)
            print(f"deleted {name}")
    return 0


def rename_command(options: argparse.Namespace) -> int:
    """The file of its best kernel follows."""
    from evoengineer.archive.managing import rename_run
    from evoengineer.archive.store import Archive
    from evoengineer.experiment.evolving import archive_file

    with Archive(archive_file(options.archive), create=False) as archive:
        _exactly(archive, options.run)
        with archive.lock(options.run):
            rename_run(archive, options.run, options.name)
        archive.lock(options.run).path.unlink(missing_ok=True)
        old, new = best_file(archive, options.run), best_file(archive, options.name)
        if old.exists():
            old.rename(new)
        print(f"{options.run} is now called {options.name}")
    return 0


def note_command(options: argparse.Namespace) -> int:
    """`show` and `runs --json` tell it."""
    from evoengineer.archive.managing import note_run
    from evoengineer.archive.store import Archive
    from evoengineer.experiment.evolving import archive_file

    with Archive(archive_file(options.archive), create=False) as archive:
        run = archive.run(options.run)
        note_run(archive, run.id, " ".join(options.text).strip())
        print(f"noted with {run.id}")
    return 0


def _exactly(archive: Archive, name: str) -> None:
    found = archive.run(name).id
    if found != name:
        raise UsageError(f"no run {name!r}; there is {found!r}: write the whole name")


def _as_json(summary: RunSummary, status: str) -> dict[str, object]:
    run = summary.run
    return {
        "run": run.id,
        "problem": run.problem,
        "method": run.method,
        "proposer": run.proposer,
        "device": run.device,
        "simulated": DeviceName.parse(run.device).simulated,
        "seed": run.seed,
        "status": status,
        "reason": run.reason,
        "trials": summary.trials,
        "limit": run.trials,
        "outcomes": {str(outcome): count for outcome, count in summary.outcomes.items()},
        "duplicates": summary.duplicates,
        "tokens": summary.tokens,
        "usd": summary.nano_usd / 1e9 if summary.price_known else None,
        "note": run.note,
        "baseline_us": summary.baseline_us,
        "best_us": summary.best_us,
        "best_speedup": summary.best_speedup,
    }


def methods_command(options: argparse.Namespace) -> int:
    """The table of methods."""
    from evoengineer.report.text import table
    from evoengineer.search.methods import METHODS

    rows = [("METHOD", "GUIDANCE", "OPERATORS", "LOOK-AHEAD", "WHAT")]
    for method in METHODS:
        used = dict.fromkeys((*method.opening, *method.cycle))
        keys = dict.fromkeys(part.key for operator in used for part in operator.guidance)
        rows.append((
            *(method.name, ",".join(sorted(keys)), ", ".join(each.name for each in used)),
            *(str(method.lookahead), method.summary),
        ))  # fmt: skip
    print(table(rows))
    return 0


def models_command(options: argparse.Namespace) -> int:
    """The table of known models."""
    from evoengineer.propose.prices import find_model, model_names
    from evoengineer.report.text import table

    rows = [("NAME", "MODEL", "INPUT", "CACHED", "OUTPUT", "KEY", "PRICE AS OF")]
    for name in model_names():
        model = find_model(name)
        price = model.price
        assert price is not None
        rows.append((
            *(name, model.model, f"${price.input:g}", f"${price.cached:g}", f"${price.output:g}"),
            *(f"${model.key}", str(price.as_of)),
        ))  # fmt: skip
    print(table(rows))
    print("US dollars per million tokens")
    return 0
