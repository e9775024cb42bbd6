"""`evoengineer judge`: from a kernel's text to a verdict."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.card.name import DEFAULT_DEVICE, DeviceName
from evoengineer.errors import UsageError
from evoengineer.user_files import read_text

if TYPE_CHECKING:
    from evoengineer.cli import Parser
    from evoengineer.judge import JudgeOptions


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    """Declare `judge`."""
    judge = groups.add_parser(
        "judge",
        help="judge a kernel: compile it, compare it with the reference, time it",
        epilog="Exit code 0: valid. 1: any other verdict. 2: wrong usage.",
    )
    judge.add_argument(
        "kernel",
        type=Path,
        metavar="KERNEL",
        help="a PyTorch CUDA extension in one file (.cu), or a Python file with ModelNew and load_inline",
    )
    judge.add_argument(
        "--problem",
        required=True,
        metavar="P",
        help="a name, a folder with problem.py, or a KernelBench file",
    )
    judge.add_argument("--json", action="store_true", help="print the whole verdict as JSON")
    add_judging_options(judge)
    judge.set_defaults(command=judge_command)


def add_judging_options(parser: argparse.ArgumentParser) -> None:
    """What every command that judges takes."""
    parser.add_argument(
        "--device",
        type=DeviceName.parse,
        default=DEFAULT_DEVICE,
        metavar="D",
        help=f"sim:CARD or cuda:N (default {DEFAULT_DEVICE})",
    )
    parser.add_argument(
        "--baseline",
        type=Path,
        metavar="FILE",
        help="compare with this kernel instead of the problem's own",
    )
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="draw inputs from this run seed (default: a secret of this machine)",
    )
    parser.add_argument("--no-cache", action="store_true", help="judge again what was judged before")
    parser.add_argument(
        "--unsafe",
        action="store_true",
        help="run even where the system offers no isolation (see `evoengineer doctor`)",
    )


def judging_options(options: argparse.Namespace, workers: int = 0) -> JudgeOptions:
    """The options as the user gave them, checked."""
    from evoengineer.judge import JudgeOptions

    if workers < 0:
        raise UsageError(f"--workers must not be negative (0: one per core), not {workers}")
    return JudgeOptions(
        device=options.device,
        run_seed=options.seed,
        workers=workers,
        unsafe=options.unsafe,
        use_cache=not options.no_cache,
    )


def judge_command(options: argparse.Namespace) -> int:
    """Judge the kernel and print its verdict."""
    read_text(options.kernel)

    from evoengineer.judge import judge
    from evoengineer.problem.catalog import find_problem
    from evoengineer.report.verdict import verdict_text

    description = find_problem(options.problem, options.baseline)
    verdict = judge(options.kernel, description, options=judging_options(options))
    if options.json:
        json.dump(verdict.to_json(), sys.stdout, indent=2)
        print()
    else:
        print(verdict_text(verdict))
    return 0 if verdict.valid else 1
