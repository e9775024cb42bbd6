"""`evoengineer suite …`: a whole suite at once: are its problems sound and its baselines valid?"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from evoengineer.cli.judge import add_judging_options, judging_options
from evoengineer.cli.numbers import whole

if TYPE_CHECKING:
    from evoengineer.cli import Parser
    from evoengineer.judge.verdict import Verdict

DEFAULT_SUITE = "kernels91"


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    """Declare `suite verify`, `suite check` and `suite mutants`."""
    suite = groups.add_parser("suite", help="verify a whole suite of problems")
    commands = suite.add_subparsers(metavar="COMMAND", required=True, parser_class=type(suite))
    verify = commands.add_parser(
        "verify",
        help="judge all baselines",
        epilog="What was judged before is not judged again (--no-cache does), so that an interrupted run goes on.",
    )
    _add_names(verify)
    _add_workers(verify)
    verify.add_argument("--json", action="store_true", help="all verdicts as JSON")
    verify.add_argument("--markdown", action="store_true", help="the table as Markdown")
    verify.add_argument(
        "--torch-headers", action="store_true",
        help="compile the baselines against the real PyTorch headers instead (minutes each)",
    )  # fmt: skip
    add_judging_options(verify)
    verify.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="judge on this Ray cluster: HOST:PORT, auto, or local for a new one",
    )
    verify.add_argument(
        "--card", default="", metavar="TYPE", help="the type of GPU to use on a cluster with several"
    )
    verify.set_defaults(command=verify_command)
    check = commands.add_parser("check", help="check all problems: none may be degenerate")
    _add_names(check)
    check.set_defaults(command=check_command)
    mutants = commands.add_parser(
        "mutants", help="judge broken copies of all baselines: none that matters may be valid"
    )
    _add_names(mutants)
    _add_workers(mutants)
    mutants.set_defaults(command=mutants_command)


def _add_names(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="*", metavar="NAME", help="problems, or families such as matmul (default: all)"
    )
    parser.add_argument("--suite", default=DEFAULT_SUITE, help=f"the suite (default {DEFAULT_SUITE})")


def _add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workers",
        type=whole(0, 1024),
        default=0,
        metavar="N",
        help="judge N at a time (default: one per core)",
    )


def verify_command(options: argparse.Namespace) -> int:
    """Judge the baselines, or compile them against PyTorch's headers."""
    from evoengineer.experiment.suite import judge_baselines
    from evoengineer.problem.catalog import select
    from evoengineer.report.verdict import baseline_table

    names = select(options.suite, options.files)
    if options.torch_headers:
        return _compile_all(names)
    done = 0

    def tell(name: str, verdict: Verdict) -> None:
        nonlocal done
        done += 1
        seconds = verdict.seconds.get("total", 0.0)
        print(
            f"[{done}/{len(names)}] {name}: {verdict.outcome} ({seconds:.1f} s)", file=sys.stderr, flush=True
        )

    judging = judging_options(options, workers=options.workers)
    with ExitStack() as opened:
        cluster = None
        if options.cluster is not None:
            from evoengineer.cluster.pool import Cluster

            cluster = opened.enter_context(Cluster(options.cluster, judging, card=options.card))
        verdicts = judge_baselines(names, judging, tell, cluster=cluster)
    wrong = [name for name, verdict in verdicts.items() if not verdict.valid]
    if options.json:
        print(json.dumps({name: verdict.to_json() for name, verdict in verdicts.items()}, indent=2))
    else:
        print(baseline_table(verdicts, markdown=options.markdown))
        print(f"\n{len(verdicts) - len(wrong)} of {len(verdicts)} baselines are valid on {options.device}")
    return 1 if wrong else 0


def _compile_all(names: Sequence[str]) -> int:
    from evoengineer.experiment.suite import compile_baselines

    refused = 0
    for name, result in compile_baselines(names):
        refused += not result.compiles
        outcome = "compiles" if result.compiles else "does not compile"
        print(f"{name}: {outcome} with PyTorch's headers ({result.seconds:.0f} s)", flush=True)
        if not result.compiles:
            print("\n".join(f"    {line}" for line in result.log.splitlines()))
    print(f"\n{len(names) - refused} of {len(names)} baselines compile with PyTorch's own headers")
    return 1 if refused else 0


def check_command(options: argparse.Namespace) -> int:
    """Say of each problem what is wrong with it."""
    from evoengineer.experiment.suite import check_problems
    from evoengineer.problem.catalog import select

    names = select(options.suite, options.files)
    bad = 0
    for name, found in check_problems(names):
        bad += bool(found)
        for finding in found or ["good"]:
            print(f"{name}: {finding}", flush=True)
    print(f"\n{len(names) - bad} of {len(names)} problems are good")
    return 1 if bad else 0


def mutants_command(options: argparse.Namespace) -> int:
    """A line per problem, with the mutants that survived below it."""
    from evoengineer.experiment.suite import judge_all_mutants
    from evoengineer.judge.mutation_score import Fate, MutationScore
    from evoengineer.problem.catalog import select
    from evoengineer.sim.options import default_threads

    names = select(options.suite, options.files)
    scores = []
    for name, judged in judge_all_mutants(names, options.workers or default_threads()):
        scores.append(MutationScore.of(judged))
        print(f"{name}: {scores[-1]}", flush=True)
        for each in judged:
            if each.fate is Fate.SURVIVED:
                print(f"    survived: {each.mutant.kind}: {each.mutant.change}", flush=True)
    total = MutationScore(
        sum(each.killed for each in scores),
        sum(each.survived for each in scores),
        sum(each.left_out for each in scores),
    )
    print(f"\nall in all: {total}")
    return 1 if total.survived else 0
