"""`evoengineer runs`, `methods` and `models`: lists."""

from __future__ import annotations

import argparse
import datetime
import json
from typing import TYPE_CHECKING

from evoengineer.card.name import DeviceName
from evoengineer.cli.run_options import add_archive

if TYPE_CHECKING:
    from evoengineer.archive.reading import RunSummary
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
            run = each.run
            rows.append((
                *(run.id, run.problem, run.method, run.proposer, run.device, f"{each.trials}/{run.trials}"),
                *(str(each.valid), speedup_text(each.best_speedup), cost(each.nano_usd), status, begun),
            ))  # fmt: skip
    if not options.json:
        print(table(rows) if found else "no runs yet")
    return 0


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
        "usd": summary.nano_usd / 1e9,
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
