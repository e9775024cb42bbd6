"""`evoengineer experience list|show|import|forget`: what runs have proved, kept from one to the next."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.cli.run_options import add_archive
from evoengineer.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from evoengineer.cli import Parser
    from evoengineer.experience.library import Library
    from evoengineer.experience.proofs import Proof


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    """Declare `experience` and what it can do."""
    experience = groups.add_parser("experience", help="techniques that runs have proved, for other problems")
    verbs = experience.add_subparsers(metavar="WHAT", required=True, parser_class=type(experience))
    shown = verbs.add_parser("list", help="each technique with its gains and failures")
    shown.add_argument(
        "--json", action="store_true", help="every proof as a line of JSON, which `import` reads"
    )
    shown.set_defaults(command=list_command)
    show = verbs.add_parser("show", help="the proofs of one technique, and an example")
    show.add_argument("technique", metavar="TECHNIQUE", help="a name of the list")
    show.set_defaults(command=show_command)
    imported = verbs.add_parser(
        "import", help="add another library, all runs of an archive, or lines of JSON"
    )
    imported.add_argument("files", nargs="+", type=Path, metavar="FILE")
    imported.set_defaults(command=import_command)
    forget = verbs.add_parser("forget", help="remove proofs from the library")
    forget.add_argument("--technique", metavar="T", help="only of this technique")
    forget.add_argument("--problem", metavar="P", help="only those proved on this problem")
    forget.add_argument("--all", action="store_true", help="everything")
    forget.set_defaults(command=forget_command)
    for verb in (shown, show, imported, forget):
        verb.add_argument(
            "--library",
            type=Path,
            metavar="FILE",
            help="the library (default: experience.db beside the archive)",
        )
        add_archive(verb)


def list_command(options: argparse.Namespace) -> int:
    """A table by technique, or the proofs themselves."""
    from evoengineer.report.text import table

    proofs = _library(options).proofs()
    if options.json:
        for proof in proofs:
            print(json.dumps(proof.to_json(), sort_keys=True, ensure_ascii=False))
        return 0
    from evoengineer.experience.attribution import shares

    credited = shares(proofs)
    rows = [("TECHNIQUE", "USES", "FAILED", "MEAN GAIN", "PROBLEMS", "BOUND BY")]
    for name in sorted({proof.technique for proof in proofs}):
        own = [proof for proof in proofs if proof.technique == name]
        problems = sorted({proof.problem for proof in own})
        bounds = sorted({proof.structure.bottleneck for proof in own})
        failed = sum(proof.gain is None for proof in own)
        rows.append((name, str(len(own)), str(failed), _mean(own, credited), _some(problems), _some(bounds)))
    print(table(rows) if proofs else f"{_library(options).path}: no experience yet")
    return 0


def show_command(options: argparse.Namespace) -> int:
    """Where a technique was proved."""
    from evoengineer.experience.techniques import BY_NAME
    from evoengineer.report.text import table

    if options.technique not in BY_NAME:
        hint = did_you_mean(options.technique, tuple(BY_NAME))
        raise UsageError(f"no technique {options.technique!r}{hint}; `evoengineer experience list` has them")
    proofs = [proof for proof in _library(options).proofs() if proof.technique == options.technique]
    print(f"{options.technique}: {BY_NAME[options.technique].text}")
    if not proofs:
        print("not proved anywhere yet")
        return 0
    rows = [("PROOF", "PROBLEM", "DEVICE", "KIND", "BOUND BY", "ACCESS", "GAIN", "TOGETHER WITH")]
    for proof in sorted(proofs, key=lambda each: (-(each.gain or 0.0), each.id)):
        gain = f"{proof.gain:.2f}x" if proof.gain is not None else proof.outcome
        where = proof.structure
        others = "alone" if proof.together == 1 else f"{proof.together - 1} others"
        rows.append((
            *(proof.id[:8], proof.problem, proof.device, where.kind, where.bottleneck, where.access, gain, others),
        ))  # fmt: skip
    print(table(rows))
    best = max(proofs, key=lambda each: (bool(each.excerpt), each.log_gain, each.id))
    if best.excerpt:
        print(f"\nin a kernel for {best.problem}:\n{best.excerpt}")
    return 0


def import_command(options: argparse.Namespace) -> int:
    """Say what each file brought."""
    from evoengineer.experience.learning import import_file

    library = _library(options)
    for file in options.files:
        print(f"{file}: {import_file(library, file)} new proofs")
    return 0


def forget_command(options: argparse.Namespace) -> int:
    """What is chosen by technique or problem, or all."""
    if not (options.technique or options.problem or options.all):
        raise UsageError("what to forget? --technique T, --problem P, or --all")
    library = _library(options)
    chosen = [
        proof.id
        for proof in library.proofs()
        if options.technique in (None, proof.technique) and options.problem in (None, proof.problem)
    ]
    print(f"{library.path}: {library.forget(chosen)} proofs forgotten")
    return 0


def _library(options: argparse.Namespace) -> Library:
    from evoengineer.experience.library import Library, library_beside
    from evoengineer.experiment.evolving import archive_file

    return Library(options.library or library_beside(archive_file(options.archive)))


def _mean(proofs: Sequence[Proof], credited: Mapping[str, float]) -> str:
    """Of what each child gained, the part that is credited to the technique."""
    logs = [credited[proof.id] for proof in proofs if proof.gain is not None]
    return f"{math.exp(sum(logs) / len(logs)):.2f}x" if logs else "-"


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
