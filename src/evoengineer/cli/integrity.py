"""`evoengineer integrity`: hostile kernels must be caught, honest ones must pass."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from evoengineer.card.name import DEFAULT_DEVICE, DeviceName
from evoengineer.cli.numbers import whole
from evoengineer.errors import UsageError

if TYPE_CHECKING:
    from evoengineer.cli import Parser
    from evoengineer.judge.corpus import Specimen


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    parser = groups.add_parser(
        "integrity",
        help="try the judge with hostile and honest kernels",
        epilog="Exit code 0: every attack was caught and every honest kernel passed. 1: not so. 2: wrong usage.",
    )
    parser.add_argument("--kind", action="append", default=[], metavar="K", help="only this kind; repeatable")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="only this kernel; repeatable"
    )
    parser.add_argument("--list", action="store_true", help="name the kernels and what they do; judge none")
    parser.add_argument(
        "--device",
        type=DeviceName.parse,
        default=DEFAULT_DEVICE,
        metavar="D",
        help=f"sim:CARD or cuda:N (default {DEFAULT_DEVICE})",
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="draw inputs from this run seed (default: a new one)"
    )
    parser.add_argument(
        "--workers", type=whole(1, 1024), default=1, metavar="N", help="judge N at a time (default 1)"
    )
    parser.add_argument(
        "--unsafe",
        action="store_true",
        help="run even where the system offers no isolation: you do not want this",
    )
    parser.add_argument("--json", action="store_true", help="all results as JSON")
    parser.set_defaults(command=integrity_command)


def integrity_command(options: argparse.Namespace) -> int:
    from evoengineer.experiment.integrity import Gauntlet
    from evoengineer.judge.corpus import choose, load_corpus
    from evoengineer.judge.options import JudgeOptions
    from evoengineer.report.integrity import result_line, totals

    if options.workers < 1:
        raise UsageError(f"--workers must be positive, not {options.workers}")
    corpus = load_corpus()
    chosen = choose(corpus, options.kind, options.only, str(options.device))
    width = max((len(each.name) for each in chosen), default=0)
    if options.list:
        print("\n".join(_listed(each, width) for each in chosen))
        return 0
    settings = JudgeOptions(
        device=options.device,
        run_seed=options.seed,
        workers=options.workers,
        memory_bytes=2 << 30,
        unsafe=options.unsafe,
    )
    results = []
    with Gauntlet(settings) as gauntlet:
        for result in gauntlet.run(chosen, corpus):
            results.append(result)
            # It takes many minutes: whoever asks for JSON sees how far it is, too.
            print(result_line(result, width), file=sys.stderr if options.json else sys.stdout, flush=True)
    if options.json:
        json.dump([result.to_json() for result in results], sys.stdout, indent=2)
        print()
    else:
        print(f"\n{totals(results)}")
    return 0 if all(result.passed for result in results) else 1


def _listed(specimen: Specimen, width: int) -> str:
    return f"{specimen.name.ljust(width)}  {specimen.problem}: {specimen.what}"
