"""`evoengineer show RUN` and `evoengineer export RUN`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.card.name import DeviceName
from evoengineer.cli.run_options import add_archive
from evoengineer.errors import UsageError

if TYPE_CHECKING:
    from evoengineer.archive.store import Archive
    from evoengineer.cli import Parser

_PROPOSALS = (
    "PROPOSAL", "TRIAL", "OPERATOR", "GUIDANCE", "PARENTS", "VERDICT", "TIME us", "SPEEDUP", "NAME",
)  # fmt: skip


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    """Declare `show` and `export`."""
    show = groups.add_parser("show", help="a run's trials, or one of them in full")
    show.add_argument("run", metavar="RUN", help="a run's name or the beginning of it")
    show.add_argument(
        "--proposal", type=int, metavar="N", help="prompt, reply, kernel and verdict of proposal N"
    )
    show.add_argument("--best", action="store_true", help="print the best kernel's source")
    show.add_argument(
        "--diff",
        action="store_true",
        help="the best kernel (or proposal N) against the baseline and its parents",
    )
    show.add_argument("--insights", action="store_true", help="the insights and what came of them")
    show.add_argument(
        "--digest", action="store_true", help="a hash of all but wall times: equal for runs that are equal"
    )
    add_archive(show)
    show.set_defaults(command=show_command)

    export = groups.add_parser(
        "export", help="the best kernel, its evidence, and a PyTorch extension with a test, in a folder"
    )
    export.add_argument("run", metavar="RUN", help="a run's name or the beginning of it")
    export.add_argument("--output", type=Path, metavar="DIR", help="the folder (default: the run's name)")
    export.add_argument("--proposal", type=int, metavar="N", help="export this proposal instead of the best")
    add_archive(export)
    export.set_defaults(command=export_command)


def show_command(options: argparse.Namespace) -> int:
    """The part of a run that the options ask for; its proposals unless they say otherwise."""
    from evoengineer.archive.canonical import digest
    from evoengineer.archive.reading import insight_uses, proposals, summary
    from evoengineer.archive.store import Archive
    from evoengineer.experiment.evolving import archive_file
    from evoengineer.report.export import best_source
    from evoengineer.report.facts import read_facts
    from evoengineer.report.summary import summary_text
    from evoengineer.report.text import sparkline, speedup_text, table

    with Archive(archive_file(options.archive), read_only=True) as archive:
        run = archive.run(options.run)
        if options.digest:
            print(digest(archive, run.id))
        elif options.diff:
            _show_difference(archive, run.id, options.proposal)
        elif options.best:
            print(best_source(archive, run.id)[1], end="")
        elif options.proposal is not None:
            _show_proposal(archive, run.id, options.proposal)
        elif options.insights:
            rows: list[tuple[str, ...]] = [("PROPOSAL", "OUTCOME", "GAIN", "USES", "INSIGHT")]
            for number, text, outcome, gain, uses in insight_uses(archive, run.id):
                shown = "failed" if gain is None else f"{gain:.2f}x"
                rows.append((str(number), outcome, shown, str(uses), " ".join(text.split())[:100]))
            print(table(rows))
        else:
            print(summary_text(summary(archive, run.id), None))
            curve = read_facts(archive, [run.id])[0].curve
            if curve[-1] is not None:
                print(
                    f"  best so far, by trial  {sparkline(curve)}  {curve[0] or 1:.2f}x to {curve[-1]:.2f}x"
                )
            rows = [_PROPOSALS]
            for each in proposals(archive, run.id):
                verdict = each.outcome or (
                    f"same as {each.duplicate_of}" if each.kind == "duplicate" else each.kind or "under way"
                )
                rows.append((
                    *(str(each.number), str(each.trial or "-"), each.operator, each.guidance or "-"),
                    *(",".join(map(str, each.parents)) or "-", verdict + (" *" if each.improved else "")),
                    *("-" if each.time_us is None else f"{each.time_us:.2f}",),
                    *("-" if each.time_us is None else speedup_text(each.speedup), each.name[:60]),
                ))  # fmt: skip
            print(table(rows, right=frozenset({0, 1})))
            if DeviceName.parse(run.device).simulated:
                print("times are simulated; * marks a new best")
    return 0


def _show_proposal(archive: Archive, run: str, number: int) -> None:
    from evoengineer.archive.reading import exchange, proposals, verdict

    found = next((each for each in proposals(archive, run) if each.number == number), None)
    if found is None:
        raise UsageError(f"run {run} has no proposal {number}")
    system, user, reply = exchange(archive, run, number)
    judged = verdict(archive, run, number)
    sections = [("system", system), ("prompt", user), ("reply", reply or ""), ("kernel", found.source)]
    if judged is not None:
        sections.append(("verdict", f"{judged.outcome}: {judged.summary}\n{judged.evidence}"))
        if judged.timing is not None and judged.timing.profile:
            sections.append(("profile", judged.timing.profile))
    for title, text in sections:
        if text.strip():
            print(f"---- {title} ----\n{text.rstrip()}\n")


def _show_difference(archive: Archive, run: str, number: int | None) -> None:
    """Against the baseline, then against each parent that is not the baseline."""
    from evoengineer.archive.browsing import proposal
    from evoengineer.report.export import best_source
    from evoengineer.report.highlight import difference

    found = proposal(archive, run, best_source(archive, run)[0] if number is None else number)
    for other in dict.fromkeys((0, *found.parents)):
        old = proposal(archive, run, other)
        names = ("baseline" if other == 0 else f"proposal {other}", f"proposal {found.number}")
        print(difference(old.source, found.source, *names) or f"{names[1]} is the text of {names[0]}")


def export_command(options: argparse.Namespace) -> int:
    """Write the folder and name its files."""
    from evoengineer.archive.store import Archive
    from evoengineer.experiment.evolving import archive_file
    from evoengineer.report.export import export_run

    with Archive(archive_file(options.archive), read_only=True) as archive:
        run = archive.run(options.run)
        folder = options.output or Path(run.id)
        for path in export_run(archive, run.id, folder, options.proposal):
            print(path)
    return 0
