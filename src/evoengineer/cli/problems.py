"""`evoengineer problems …`: what can be optimised, and how to get problems of one's own."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evoengineer.cli import Parser
    from evoengineer.problem.catalog import Description


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    """Declare `problems` and its commands: list, show, check, new and adopt."""
    problems = groups.add_parser("problems", help="list, explain, check and make problems")
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
    new = commands.add_parser("new", help="write a template of a problem, with a baseline, to start from")
    new.add_argument("name", metavar="NAME", help="of the problem and of its folder")
    new.add_argument("--out", type=Path, metavar="DIR", help="the folder to make (default: NAME)")
    new.set_defaults(command=new_command)
    adopt = commands.add_parser(
        "adopt", help="make a problem folder of a KernelBench file, with a generated baseline that was judged"
    )
    adopt.add_argument(
        "file", metavar="FILE.py", type=Path, help="with Model, get_inputs and get_init_inputs"
    )
    adopt.add_argument(
        "--out", type=Path, metavar="DIR", help="the folder to make (default: the file's name)"
    )
    adopt.set_defaults(command=adopt_command)


def list_command(options: argparse.Namespace) -> int:
    """Names and titles, or names and files as JSON."""
    from evoengineer.problem.catalog import shipped
    from evoengineer.report.problem import title_in
    from evoengineer.report.text import table

    known = shipped()
    if options.json:
        print(json.dumps({name: str(path) for name, path in known.items()}, indent=2))
        return 0
    print(table([(name, title_in(path)) for name, path in known.items()]))
    print("\nA folder with problem.py and baseline.cu, or a KernelBench file, can be named by its path.")
    return 0


def show_command(options: argparse.Namespace) -> int:
    """One problem in full."""
    from evoengineer.problem.catalog import find_problem
    from evoengineer.report.problem import problem_json, problem_text

    description = find_problem(options.problem)
    print(json.dumps(problem_json(description), indent=2) if options.json else problem_text(description))
    return 0


def check_command(options: argparse.Namespace) -> int:
    """Say what is wrong with a problem; judge its baseline if nothing is."""
    from evoengineer.experiment.suite import findings_of
    from evoengineer.judge import judge
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
    verdict = judge(description.problem.baseline, description)
    print(f"{name}: baseline is {verdict.outcome}: {verdict.summary}")
    if not verdict.valid:
        return 1
    return 0 if options.no_mutants else _mutation_score(description)


def new_command(options: argparse.Namespace) -> int:
    """Write the template and say what to do with it."""
    from evoengineer.problem.catalog import called
    from evoengineer.problem.template import write_template

    folder = write_template(options.name, options.out)
    print(f"{folder}: problem.py and baseline.cu, to be edited; docs/problems.md explains them")
    print(f"  then: evoengineer problems check {called(folder)}")
    print(f"        evoengineer evolve {called(folder)}")
    return 0


def adopt_command(options: argparse.Namespace) -> int:
    """Make the folder and say how fast its baseline is."""
    from evoengineer.experiment.adopting import adopt
    from evoengineer.problem.catalog import called

    adopted = adopt(options.file, options.out, say=lambda text: print(text, flush=True))
    print(f"{adopted.folder}: baseline is {adopted.verdict.outcome}: {adopted.verdict.summary}")
    print("  problem.py (reference, cases, distributions) and baseline.cu are yours to edit")
    print(f"  then: evoengineer evolve {called(adopted.folder)}")
    return 0


def _mutation_score(description: Description) -> int:
    from evoengineer.judge.mutation_score import Fate, MutationScore, judge_mutants

    name, mutants = description.problem.name, []
    for judged in judge_mutants(description):
        mutants.append(judged)
        outcome = f" ({judged.outcome})" if judged.fate is Fate.KILLED else ""
        print(f"{name}: {judged.fate}{outcome}: {judged.mutant.kind}: {judged.mutant.change}", flush=True)
    score = MutationScore.of(mutants)
    print(f"{name}: {score}")
    return 1 if score.survived else 0
