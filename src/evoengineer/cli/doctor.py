"""`evoengineer doctor`: what this machine offers, why it was chosen, and what to do about what is missing.

Exit code 0 when kernels can be judged on the simulated GPU, 1 otherwise. Prints no secret: of a key only
whether it is set, of an address only where it leads. The questions are asked in `experiment/machine.py`.
"""

import argparse
import json
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evoengineer.cli import Parser
    from evoengineer.experiment.machine import Finding

_WIDTH = 110
_INDENT = 17


def add_commands(groups: "argparse._SubParsersAction[Parser]") -> None:
    """Declare `doctor`."""
    doctor = groups.add_parser(
        "doctor",
        help="what was found on this machine, why, and what to do about what is missing",
        epilog="Exit code 0 when kernels can be judged on the simulated GPU, 1 otherwise.",
    )
    doctor.add_argument("--json", action="store_true", help="the same as data")
    doctor.add_argument(
        "--cluster", metavar="ADDRESS", help="look at the nodes of this Ray cluster instead (HOST:PORT, auto)"
    )
    doctor.set_defaults(command=doctor_command)


def doctor_command(options: argparse.Namespace) -> int:
    """Print what was found; the exit code says whether it is enough."""
    from evoengineer.experiment.machine import examine, examine_cluster

    findings = examine() if options.cluster is None else examine_cluster(options.cluster)
    obstacles = [each.name for each in findings if each.needed and each.status == "missing"]
    if options.json:
        print(json.dumps({"ready": not obstacles, "findings": [asdict(each) for each in findings]}, indent=2))
    else:
        for each in findings:
            print(_render(each))
        print()
        where = "the simulated GPU" if options.cluster is None else "the cluster"
        print(f"Not ready: {', '.join(obstacles)}." if obstacles else f"Ready to judge on {where}.")
    return 1 if obstacles else 0


def _render(finding: "Finding") -> str:
    mark = {"ok": "✓", "missing": "✗" if finding.needed else "–", "note": "·"}[finding.status]
    text = finding.found + (f" ({finding.reason})" if finding.reason else "")
    lines = textwrap.wrap(text, _WIDTH - _INDENT, break_long_words=False, break_on_hyphens=False)
    lines += textwrap.wrap(
        finding.remedy, _WIDTH - _INDENT, initial_indent="→ ", subsequent_indent="  ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    name = finding.name.replace("sandbox ", "  ")  # its layers, below it
    first = f"{mark} {name:<{_INDENT - 3}} "
    return textwrap.indent("\n".join(lines), " " * _INDENT).replace(" " * _INDENT, first, 1)
