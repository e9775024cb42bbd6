"""`evoengineer sim profile FILE.cu [-- ARGUMENTS]`: why the kernels of a program take the time they take."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.errors import UsageError

if TYPE_CHECKING:
    from evoengineer.cli import Parser


def add_profile_command(commands: "argparse._SubParsersAction[Parser]") -> "Parser":
    """Declare `sim profile`; the caller adds the device's own options."""
    profile = commands.add_parser(
        "profile",
        help="run a CUDA program and explain the simulated time of its kernels",
        usage="%(prog)s FILE.cu... [options] [-- ARGUMENTS]",
        epilog="The program's own output goes to stderr, the profile to stdout.",
    )
    profile.add_argument("files", nargs="+", type=Path, metavar="FILE", help="source files of one program")
    profile.add_argument(
        *("--nvcc-arg", "-A"),
        action="append",
        default=[],
        metavar="ARG",
        help="an option for nvcc, e.g. -O3; repeatable",
    )
    profile.add_argument("--json", action="store_true", help="one object per launch, as a JSON list")
    profile.set_defaults(command=profile_command)
    return profile


def profile_command(options: argparse.Namespace) -> int:
    """Run the program and explain its launches."""
    from evoengineer.cli.sim import built_command, device_options, scratch_directory
    from evoengineer.experiment.program import profiled_run
    from evoengineer.report.profiles import explain

    device = device_options(options)
    if not device.sample_blocks:
        raise UsageError(
            "--sample-blocks must be at least 1 here: without counting there is nothing to explain"
        )
    with scratch_directory() as scratch:
        command = built_command(options, device, scratch)
        code, launches = profiled_run(command, device, scratch, stdout=sys.stderr.fileno())
    if options.json:
        print(json.dumps([each.to_json() for each in launches], indent=1))
    else:
        print(explain(launches))
    return code
