"""`evoengineer sim profile FILE.cu [-- ARGUMENTS]`: why the kernels of a program take the time they take."""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoengineer.errors import UsageError
from evoengineer.sim.timing.profile import LaunchProfile

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
    from evoengineer.cli.sim import device_options, run_sources, scratch_directory

    device = device_options(options)
    if not device.sample_blocks:
        raise UsageError(
            "--sample-blocks must be at least 1 here: without counting there is nothing to explain"
        )
    with scratch_directory() as scratch:
        report = scratch / "profiles.json"
        code = run_sources(options, replace(device, profile_file=str(report)), stdout=sys.stderr)
        found = json.loads(report.read_text()) if report.exists() else []
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        print(_by_kernel([LaunchProfile.from_json(each) for each in found]))
    return code


def _by_kernel(profiles: list[LaunchProfile]) -> str:
    """A paragraph for each kernel and launch shape, in the order of their first launch."""
    from evoengineer.sim.timing.explain import explain

    groups: dict[tuple[Any, ...], list[LaunchProfile]] = {}
    for profile in profiles:
        groups.setdefault((profile.kernel, profile.grid, profile.block), []).append(profile)
    return "\n".join(explain(group) for group in groups.values()) or explain([])
