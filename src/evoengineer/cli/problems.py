"""`evoengineer problems …`: what can be optimised."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoengineer.errors import EvoEngineerError

if TYPE_CHECKING:
    from evoengineer.cli import Parser
    from evoengineer.problem.catalog import Description


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    """Declare `problems`, `problems list`, `problems show` and `problems check`."""
    problems = groups.add_parser("problems", help="list, explain and check problems")
    problems.set_defaults(command=list_command, json=False)
    commands = problems.add_subparsers(metavar="COMMAND", parser_class=type(problems))
    listing = commands.add_parser("list", help="list the problems that ship with EvoEngineer")
    listing.add_argument("--json", action="store_true", help="names and files as JSON")
    listing.set_defaults(command=list_command)
    show = commands.add_parser("show", help="explain one: reference, cases, tolerance, baseline, work")
    show.add_argument(
        "problem", metavar="PROBLEM", help="a name, a folder with problem.py, or a KernelBench file"
    )
    show.add_argument("--json", action="store_true", help="the same as JSON")
    show.set_defaults(command=show_command)
    check = commands.add_parser(
        "check", help="validate a problem: degenerate ones, the baseline, and broken copies of it"
    )
    check.add_argument(
        "problem", metavar="PROBLEM", help="a name, a folder with problem.py, or a KernelBench file"
    )
    check.add_argument(
        "--no-mutants", action="store_true", help="leave out the mutation score, which takes a minute or so"
    )
    check.set_defaults(command=check_command)


def list_command(options: argparse.Namespace) -> int:
    from evoengineer.problem.catalog import shipped

    known = shipped()
    if options.json:
        print(json.dumps({name: str(path) for name, path in known.items()}, indent=2))
        return 0
    width = max((len(name) for name in known), default=0)
    for name, path in known.items():
        print(f"{name.ljust(width)}  {_first_line(path)}")
    print("\nA folder with problem.py and baseline.cu, or a KernelBench file, can be named by its path.")
    return 0


def _first_line(path: Path) -> str:
    """The title, read without running the file: that would import torch for a list."""
    import ast

    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return doc.partition("\n")[0]


def show_command(options: argparse.Namespace) -> int:
    from evoengineer.problem.catalog import find_problem

    description = find_problem(options.problem)
    if options.json:
        print(json.dumps(_as_json(description), indent=2))
        return 0
    problem = description.problem
    print(f"{problem.name}: {problem.title}\n")
    print("Arguments of forward, bench case:")
    for argument in description.arguments:
        print(f"  {argument['name']}: {_value(argument)}")
    print("Returns:")
    for output in description.outputs:
        print(f"  {_value(output)}")
    print("\nReference:")
    print("\n".join(f"  {line}" for line in problem.reference_source.rstrip().splitlines()))
    print("\nCases:")
    for case in problem.cases:
        print(f"  {case.kind}: {case.name}")
    print(f"Inputs: {', '.join(problem.distributions)}")
    print(f"Tolerance: {_tolerance(description)}")
    print(f"Baseline: {problem.baseline or 'none (give one with --baseline)'}")
    flops = description.flops()
    work = f"{description.moved_bytes() / 1e6:.1f} MB moved at least"
    print(f"Work of the bench case: {work}" + (f", about {flops / 1e9:.3g} GFLOP" if flops else ""))
    return 0


def check_command(options: argparse.Namespace) -> int:
    from evoengineer.problem.catalog import find_problem, locate

    name, path = locate(options.problem)
    description = find_problem(options.problem)
    found = findings_of(name, path)
    if found:
        for finding in found:
            print(f"{name}: {finding}")
        return 1
    print(f"{name}: good: finite, deterministic, not constant, follows every input")
    if description.problem.baseline is None:
        print(f"{name}: has no baseline.cu; judging needs --baseline")
        return 0
    failed = _judge_baseline(description)
    return failed if failed or options.no_mutants else _mutation_score(description)


def findings_of(name: str, path: Path) -> list[str]:
    """What makes a problem unfit; found in a process of its own, as it takes torch."""
    run = subprocess.run(
        [sys.executable, "-m", "evoengineer.problem.checking", str(path), name],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if run.returncode != 0:
        raise EvoEngineerError(f"checking {name} failed\n{run.stderr.strip()}")
    found: list[str] = json.loads(run.stdout.splitlines()[-1])
    return found


def _judge_baseline(description: Description) -> int:
    from evoengineer.judge import judge_once

    assert description.problem.baseline is not None
    verdict = judge_once(description.problem.baseline.read_text(encoding="utf-8"), description)
    print(f"{description.problem.name}: baseline is {verdict.outcome}: {verdict.summary}")
    return 0 if verdict.valid else 1


def _mutation_score(description: Description) -> int:
    from evoengineer.judge.mutation_score import Fate, judge_mutants

    name, fates = description.problem.name, []
    for judged in judge_mutants(description):
        fates.append(judged.fate)
        outcome = f" ({judged.outcome})" if judged.fate is Fate.KILLED else ""
        print(f"{name}: {judged.fate}{outcome}: {judged.mutant.kind}: {judged.mutant.change}", flush=True)
    killed, survived = fates.count(Fate.KILLED), fates.count(Fate.SURVIVED)
    left_out = len(fates) - killed - survived
    print(
        f"{name}: {killed} of {killed + survived} mutants of the baseline are found out"
        + (f"; {left_out} compile to the same code or not at all" if left_out else "")
    )
    return 1 if survived else 0


def _value(data: Any) -> str:
    if data["kind"] == "tensor":
        return f"{data['dtype']} {data['shape']} ({data['bytes'] / 1e6:.3g} MB)"
    return f"{data['kind']} = {data['value']}"


def _tolerance(description: Description) -> str:
    tolerance = description.problem.tolerance
    by_dtype = ", ".join(f"{dtype} {bound:g}" for dtype, bound in tolerance.relative.items())
    reason = f" ({tolerance.reason})" if tolerance.reason else ""
    return (
        f"{by_dtype}, relative to the element plus the output's RMS; and at most {tolerance.times_pytorch:g}× "
        f"PyTorch's own error{reason}"
    )


def _as_json(description: Description) -> dict[str, Any]:
    problem = description.problem
    return {
        "name": problem.name,
        "title": problem.title,
        "path": str(problem.path),
        "form": problem.form,
        "reference": problem.reference_source,
        "cases": [{"kind": str(case.kind), "sizes": dict(case.sizes)} for case in problem.cases],
        "distributions": [str(each) for each in problem.distributions],
        "tolerance": {
            "relative": dict(problem.tolerance.relative),
            "times_pytorch": problem.tolerance.times_pytorch,
        },
        "baseline": str(problem.baseline) if problem.baseline else None,
        "arguments": [dict(each) for each in description.arguments],
        "outputs": [dict(each) for each in description.outputs],
        "moved_bytes": description.moved_bytes(),
        "flops": description.flops(),
    }
