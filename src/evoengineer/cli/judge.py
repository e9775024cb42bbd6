"""`evoengineer judge`: from a kernel's text to a verdict."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.card.name import DEFAULT_DEVICE, DeviceName
from evoengineer.errors import UsageError

if TYPE_CHECKING:
    from evoengineer.cli import Parser
    from evoengineer.judge import JudgeOptions
    from evoengineer.judge.verdict import Timing, Verdict


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    judge = groups.add_parser(
        "judge",
        help="judge a kernel: compile it, compare it with the reference, time it",
        epilog="Exit code 0: valid. 1: any other verdict. 2: wrong usage.",
    )
    judge.add_argument("kernel", type=Path, metavar="KERNEL.cu", help="a PyTorch CUDA extension in one file")
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
        metavar="FILE.cu",
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
    if not options.kernel.is_file():
        raise UsageError(f"{options.kernel}: no such file")

    from evoengineer.judge import judge_once
    from evoengineer.problem.catalog import find_problem

    source = options.kernel.read_text(encoding="utf-8", errors="replace")
    description = find_problem(options.problem, options.baseline)
    verdict = judge_once(source, description, judging_options(options, workers=1))
    if options.json:
        json.dump(verdict.to_json(), sys.stdout, indent=2)
        print()
    else:
        print(verdict_text(verdict))
    return 0 if verdict.valid else 1


def verdict_text(verdict: Verdict) -> str:
    """A verdict for people."""
    lines = [f"{verdict.outcome}: {verdict.summary}"]
    if verdict.evidence:
        lines += ["", *(f"  {line}" for line in verdict.evidence.splitlines())]
    if verdict.timing is not None:
        lines += ["", *timing_lines(verdict.timing)]
    return "\n".join(lines)


def timing_lines(timing: Timing) -> list[str]:
    kind = "simulated" if timing.simulated else "measured"
    low, high = timing.interval_us
    spread = "" if low == high else f" (95%: {low:.2f} to {high:.2f})"
    lines = [f"  time      {timing.time_us:.2f} us{spread}, {kind} on {timing.device}"]
    if timing.baseline_us is not None and timing.speedup is not None:
        lines.append(f"  baseline  {timing.baseline_us:.2f} us; speedup {timing.speedup:.3g}x")
    for name, other_us in (("PyTorch ", timing.pytorch_us), ("compiled", timing.pytorch_compiled_us)):
        if other_us is not None:
            lines.append(f"  {name}  {other_us:.2f} us; speedup {other_us / timing.time_us:.3g}x")
    if timing.speed_of_light_us is not None:
        share = timing.speed_of_light_us / timing.time_us
        lines.append(f"  speed of light {timing.speed_of_light_us:.2f} us ({share:.0%} reached)")
    if timing.profile:
        lines += ["", *(f"  {line}" for line in timing.profile.splitlines())]
    return lines
