"""`evoengineer compare A.cu B.cu`: both verdicts and profiles side by side, on one card or several."""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.card.name import DeviceName
from evoengineer.cli.judge import add_judging_options, judging_options
from evoengineer.errors import UsageError

if TYPE_CHECKING:
    from evoengineer.cli import Parser


def add_commands(groups: argparse._SubParsersAction[Parser]) -> None:
    """Declare `compare`."""
    compare = groups.add_parser(
        "compare",
        help="two kernels side by side, on one card or several",
        epilog="Exit code 0: both are valid everywhere. 1: one is not. 2: wrong usage.",
    )
    compare.add_argument("first", type=Path, metavar="A.cu", help="a PyTorch CUDA extension in one file")
    compare.add_argument("second", type=Path, metavar="B.cu", help="another")
    compare.add_argument(
        "--problem",
        required=True,
        metavar="P",
        help="a name, a folder with problem.py, or a KernelBench file",
    )
    compare.add_argument(
        "--devices",
        metavar="D,…",
        help="several devices, for instance sim:rtx4090,sim:a100-80gb,sim:h100-sxm (instead of --device)",
    )
    compare.add_argument("--diff", action="store_true", help="the difference of the texts, too")
    compare.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    add_judging_options(compare)
    compare.set_defaults(command=compare_command)


def compare_command(options: argparse.Namespace) -> int:
    """Judge both on every device, then print them side by side."""
    files = (options.first, options.second)
    for file in files:
        if not file.is_file():
            raise UsageError(f"{file}: no such file")
    devices = _devices(options)
    texts = [file.read_text(encoding="utf-8", errors="replace") for file in files]

    from evoengineer.judge import open_judge
    from evoengineer.problem.catalog import find_problem
    from evoengineer.report.comparison import comparison_text
    from evoengineer.report.highlight import difference

    description = find_problem(options.problem, options.baseline)
    verdicts = {}
    for device in devices:
        with open_judge(description, replace(judging_options(options), device=device)) as judge:
            first, second = (judge.judge(text) for text in texts)
            verdicts[str(device)] = (first.result(), second.result())
    names = (
        (str(files[0]), str(files[1])) if files[0].name == files[1].name else (files[0].name, files[1].name)
    )
    if options.json:
        both = {device: {"first": a.to_json(), "second": b.to_json()} for device, (a, b) in verdicts.items()}
        print(json.dumps(both, indent=2))
    else:
        print(comparison_text(names, verdicts, max(60, shutil.get_terminal_size((110, 24)).columns)))
        if options.diff:
            print("\n" + (difference(*texts, *names) or "the texts are equal"))
    return 0 if all(verdict.valid for pair in verdicts.values() for verdict in pair) else 1


def _devices(options: argparse.Namespace) -> list[DeviceName]:
    if options.devices is None:
        return [options.device]
    names = [name.strip() for name in options.devices.split(",") if name.strip()]
    if not names:
        raise UsageError("--devices is empty")
    devices = [DeviceName.parse(name) for name in dict.fromkeys(names)]
    for device in devices:
        if device.simulated:
            device.profile  # noqa: B018  an unknown card is refused before anything is judged
    return devices
