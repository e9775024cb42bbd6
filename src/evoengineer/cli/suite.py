"""`evoengineer suite …`: a whole suite at once: are its problems sound and its baselines valid?"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING

from evoengineer.cli.judge import add_judging_options, judging_options
from evoengineer.errors import EvoEngineerError, UsageError

if TYPE_CHECKING:
    from evoengineer.cli import Parser
    from evoengineer.judge.verdict import Verdict

DEFAULT_SUITE = "kernels91"
_EXTRA = "extra"  # a family that is not counted


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    suite = groups.add_parser("suite", help="verify a whole suite of problems")
    commands = suite.add_subparsers(metavar="COMMAND", required=True, parser_class=type(suite))
    verify = commands.add_parser(
        "verify",
        help="judge all baselines",
        epilog="What was judged before is not judged again (--no-cache does), so that an interrupted run goes on.",
    )
    _add_names(verify)
    verify.add_argument(
        "--workers", type=int, default=0, metavar="N", help="judge N at a time (default: one per core)"
    )
    verify.add_argument("--json", action="store_true", help="all verdicts as JSON")
    verify.add_argument("--markdown", action="store_true", help="the table as Markdown")
    verify.add_argument(
        "--torch-headers", action="store_true",
        help="compile the baselines against the real PyTorch headers instead (minutes each)",
    )  # fmt: skip
    add_judging_options(verify)
    verify.set_defaults(command=verify_command)
    check = commands.add_parser("check", help="check all problems: none may be degenerate")
    _add_names(check)
    check.set_defaults(command=check_command)


def _add_names(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="*", metavar="NAME", help="problems, or families such as matmul (default: all)"
    )
    parser.add_argument("--suite", default=DEFAULT_SUITE, help=f"the suite (default {DEFAULT_SUITE})")


def chosen_problems(suite: str, names: Sequence[str]) -> list[str]:
    """Full names of a suite's problems; a name may be a family, a problem or the end of its name."""
    from evoengineer.problem.catalog import locate, shipped

    prefix = f"{suite}/"
    members = [name for name in shipped() if name.startswith(prefix)]
    if not members:
        suites = sorted({name.split("/")[0] for name in shipped() if "/" in name})
        raise UsageError(f"no suite {suite!r}; there is: {', '.join(suites)}")
    if not names:
        return [name for name in members if not name.startswith(f"{prefix}{_EXTRA}/")]
    found: list[str] = []
    for name in map(str, names):
        family = [member for member in members if member.startswith(f"{prefix}{name.strip('/')}/")]
        found += family or [locate(name)[0]]
    return list(dict.fromkeys(found))


def verify_command(options: argparse.Namespace) -> int:
    names = chosen_problems(options.suite, options.files)
    if options.torch_headers:
        return _compile_all(names)
    verdicts = _judge_all(names, options)
    if options.json:
        json.dump({name: verdict.to_json() for name, verdict in verdicts.items()}, sys.stdout, indent=2)
        print()
    else:
        print("\n".join(_table(verdicts, options.markdown)))
    wrong = [name for name, verdict in verdicts.items() if not verdict.valid]
    if not options.json:
        print(f"\n{len(verdicts) - len(wrong)} of {len(verdicts)} baselines are valid on {options.device}")
    return 1 if wrong else 0


def _compile_all(names: Sequence[str]) -> int:
    """Each baseline against the real PyTorch headers, two at a time at most: a compilation takes gigabytes."""
    from evoengineer.kernel.torch_headers import HeaderCheck, compile_with_torch_headers
    from evoengineer.problem.catalog import locate
    from evoengineer.sim.options import default_threads

    def compile_one(name: str) -> HeaderCheck:
        baseline = locate(name)[1].with_name("baseline.cu")
        return compile_with_torch_headers(baseline.read_text(encoding="utf-8"))

    refused = 0
    with ThreadPoolExecutor(min(2, default_threads())) as threads:
        for name, result in zip(names, threads.map(compile_one, names), strict=True):
            refused += not result.compiles
            outcome = "compiles" if result.compiles else "does not compile"
            print(f"{name}: {outcome} with PyTorch's headers ({result.seconds:.0f} s)", flush=True)
            if not result.compiles:
                print("\n".join(f"    {line}" for line in result.log.splitlines()))
    print(f"\n{len(names) - refused} of {len(names)} baselines compile with PyTorch's own headers")
    return 1 if refused else 0


def _judge_all(names: Sequence[str], options: argparse.Namespace) -> dict[str, Verdict]:
    from evoengineer.judge import JudgeOptions
    from evoengineer.judge.pool import JudgePool
    from evoengineer.judge.worker import Workers
    from evoengineer.problem.catalog import find_problems

    settings: JudgeOptions = judging_options(options, workers=options.workers)
    descriptions = find_problems(names)
    workers = Workers(settings)

    def judge(index: int) -> Verdict:
        description = descriptions[index]
        if description.problem.baseline is None:
            raise EvoEngineerError(f"{description.problem.name} has no baseline.cu")
        with JudgePool(description, settings, workers) as pool:
            return pool.judge_baseline()

    verdicts: dict[str, Verdict] = {}
    try:
        with ThreadPoolExecutor(settings.worker_count) as threads:
            under_way = {threads.submit(judge, index): name for index, name in enumerate(names)}
            for done in as_completed(under_way):
                name = under_way[done]
                verdicts[name] = done.result()
                seconds = verdicts[name].seconds.get("total", 0.0)
                print(
                    f"[{len(verdicts)}/{len(names)}] {name}: {verdicts[name].outcome} ({seconds:.1f} s)",
                    file=sys.stderr, flush=True,
                )  # fmt: skip
    finally:
        workers.close()
    return {name: verdicts[name] for name in names}


def _table(verdicts: dict[str, Verdict], markdown: bool) -> list[str]:
    rows: list[Sequence[str]] = [
        ("problem", "verdict", "simulated time", "bound by", "speed of light reached")
    ]
    for name, verdict in verdicts.items():
        rows.append((name, str(verdict.outcome), *_figures(verdict)))
    if markdown:
        lines = [f"| {' | '.join(row)} |" for row in rows]
        return [lines[0], "|---|---|---:|---|---:|", *lines[1:]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _figures(verdict: Verdict) -> tuple[str, str, str]:
    timing = verdict.timing
    if timing is None:
        return "-", verdict.summary, "-"
    from evoengineer.sim.timing.explain import bound_name

    longest = max(timing.launches, key=lambda each: each.time_ns, default=None)
    light = f"{timing.speed_of_light_us / timing.time_us:.0%}" if timing.speed_of_light_us else "-"
    return f"{timing.time_us:.1f} us", bound_name(longest.bound) if longest else "-", light


def check_command(options: argparse.Namespace) -> int:
    from evoengineer.cli.problems import findings_of
    from evoengineer.problem.catalog import locate
    from evoengineer.sim.options import default_threads

    names = chosen_problems(options.suite, options.files)
    bad = 0
    with ThreadPoolExecutor(default_threads()) as threads:
        for name, found in zip(names, threads.map(lambda n: findings_of(*locate(n)), names), strict=True):
            bad += bool(found)
            for finding in found or ["good"]:
                print(f"{name}: {finding}", flush=True)
    print(f"\n{len(names) - bad} of {len(names)} problems are good")
    return 1 if bad else 0
