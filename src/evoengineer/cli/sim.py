"""`evoengineer sim …`: CUDA programs on the simulated GPU."""

import argparse
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.card.name import DEFAULT_DEVICE, DeviceName
from evoengineer.card.profile import load_profile, profile_names
from evoengineer.cli.sim_profile import add_profile_command
from evoengineer.errors import UsageError
from evoengineer.files import scratch_folder
from evoengineer.sim.options import (
    CHECKS,
    DEFAULT_SAMPLE_BLOCKS,
    DeviceOptions,
    Limits,
    default_threads,
    parse_checks,
)

if TYPE_CHECKING:
    from types import FrameType

    from evoengineer.cli import Parser


def add_commands(groups: "argparse._SubParsersAction[Parser]") -> None:
    """Declare `sim run`, `sim exec`, `sim profile` and `sim devices`."""
    sim = groups.add_parser("sim", help="run CUDA programs on the simulated GPU")
    commands = sim.add_subparsers(metavar="COMMAND", required=True, parser_class=type(sim))

    run = commands.add_parser(
        "run",
        help="compile a CUDA program with nvcc and run it",
        usage="%(prog)s FILE.cu... [options] [-- ARGUMENTS]",
        epilog="What follows `--` goes to the program. Its output and exit code pass through.",
    )
    run.add_argument("files", nargs="+", type=Path, metavar="FILE", help="source files of one program")
    run.add_argument(
        *("--nvcc-arg", "-A"),
        action="append",
        default=[],
        metavar="ARG",
        help="an option for nvcc, e.g. -O3, -lm, -Iinclude; repeatable",
    )
    _add_device_options(run)
    run.set_defaults(command=run_command)

    execute = commands.add_parser(
        "exec",
        help="run an executable that links libcudart dynamically",
        usage="%(prog)s PROGRAM [options] [-- ARGUMENTS]",
        epilog="Build it with: nvcc -cudart shared -gencode arch=compute_89,code=compute_89",
    )
    execute.add_argument("program", type=Path, metavar="PROGRAM")
    _add_device_options(execute)
    execute.set_defaults(command=exec_command)

    _add_device_options(add_profile_command(commands))

    devices = commands.add_parser("devices", help="list the cards that can be simulated")
    devices.set_defaults(command=devices_command)


def split_arguments(words: list[str]) -> tuple[list[str], list[str]]:
    """Our own words and the program's, which follow the first `--`.

    The value of --nvcc-arg mostly begins with a dash, which argparse takes for an option of ours unless
    the two are written as one word.
    """
    end = words.index("--") if "--" in words else len(words)
    own: list[str] = []
    ours = iter(words[:end])
    for word in ours:
        value = next(ours, None) if word in ("--nvcc-arg", "-A") else None
        own.append(word if value is None else f"--nvcc-arg={value}")
    return own, words[end + 1 :]


def run_command(options: argparse.Namespace) -> int:
    """Compile and run; the exit code is the program's."""
    device = device_options(options)
    with scratch_directory() as scratch:
        command = built_command(options, device, scratch)

        from evoengineer.sim.session import run_program

        return run_program(command, device)


def built_command(options: argparse.Namespace, device: DeviceOptions, scratch: Path) -> list[str]:
    """The program that the options name, compiled, with its arguments; nvcc's warnings go to stderr."""
    from evoengineer.experiment.program import build_program
    from evoengineer.kernel.program import Program

    program = Program(tuple(options.files), tuple(options.nvcc_arg))
    executable, log = build_program(program, device.device, scratch)
    sys.stderr.write(log)
    return [str(executable), *options.program_arguments]


def exec_command(options: argparse.Namespace) -> int:
    """Run an executable; the exit code is its own."""
    device = device_options(options)
    if not options.program.is_file():
        raise UsageError(f"{options.program}: no such program")
    if not os.access(options.program, os.X_OK):
        raise UsageError(
            f"{options.program} is not executable. To compile and run a source: evoengineer sim run"
        )

    from evoengineer.sim.session import run_program

    return run_program([str(options.program.resolve()), *options.program_arguments], device)


def devices_command(options: argparse.Namespace) -> int:
    """The table of cards."""
    if options.program_arguments:
        raise UsageError("sim devices takes no arguments")
    from evoengineer.report.text import table

    rows = [("DEVICE", "CARD", "CC", "SMs", "CLOCK", "MEMORY", "BANDWIDTH", "L2")]
    for key in profile_names():
        card = load_profile(key)
        major, minor = card.compute_capability
        rows.append((
            card.device + (" (default)" if card.device == str(DEFAULT_DEVICE) else ""),
            card.name,
            f"{major}.{minor}",
            str(card.sm_count),
            f"{card.clock_khz / 1e6:.2f} GHz",
            f"{card.dram_bytes / 2**30:.1f} GiB",
            f"{card.dram_bytes_per_second / 1e9:.0f} GB/s",
            f"{card.l2_bytes / 2**20:.0f} MiB",
        ))  # fmt: skip
    print(table(rows))
    return 0


def _add_device_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device",
        type=DeviceName.parse,
        default=DEFAULT_DEVICE,
        help=f"the card to simulate (default {DEFAULT_DEVICE}; see `sim devices`)",
    )
    parser.add_argument(
        "--threads", type=int, metavar="N", help="CPU threads for kernels (default: all cores)"
    )
    checks = "; ".join(f"{name}: {meaning}" for name, meaning in CHECKS.items())
    parser.add_argument(
        "--check", metavar="LIST", help=f"what to check, comma-separated. {checks}; all; none"
    )
    parser.add_argument(
        "--max-instructions",
        type=int,
        default=Limits().max_instructions,
        metavar="N",
        help="stop a launch whose warps run more than N instructions; 0: never (default: %(default)s)",
    )
    parser.add_argument(
        "--max-seconds",
        type=float,
        default=Limits().max_seconds,
        metavar="S",
        help="stop a kernel that runs longer than S seconds; 0: never (default: %(default)g)",
    )
    parser.add_argument(
        "--sample-blocks",
        type=int,
        default=DEFAULT_SAMPLE_BLOCKS,
        metavar="N",
        help="blocks of each grid that are counted for simulated time; 0: none, times are rough "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--sampled-only",
        action="store_true",
        help="run only the counted blocks: simulated times as ever, results incomplete",
    )


def device_options(options: argparse.Namespace) -> DeviceOptions:
    """The options as the user gave them, resolved and checked."""
    threads = default_threads() if options.threads is None else options.threads
    if threads < 1:
        raise UsageError(f"--threads must be at least 1, not {threads}")
    for name, value in (
        ("--max-instructions", options.max_instructions),
        ("--max-seconds", options.max_seconds),
    ):
        if not value >= 0:
            raise UsageError(f"{name} must not be negative (0 means no limit), not {value}")
    if options.sample_blocks < 0:
        raise UsageError(f"--sample-blocks must not be negative (0 counts none), not {options.sample_blocks}")
    if options.sampled_only and not options.sample_blocks:
        raise UsageError("--sampled-only runs the counted blocks, but --sample-blocks 0 counts none")
    checks = parse_checks("none" if options.check is None else options.check)
    return DeviceOptions(
        device=options.device,
        threads=threads,
        checks=checks,
        limits=Limits(max_instructions=options.max_instructions, max_seconds=options.max_seconds),
        sample_blocks=options.sample_blocks,
        sampled_only=options.sampled_only,
        progress=True,
    )


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """A directory that is gone afterwards, also when we are asked to terminate."""

    def terminate(number: int, frame: "FrameType | None") -> None:
        raise SystemExit(128 + number)

    previous = signal.signal(signal.SIGTERM, terminate)
    try:
        with scratch_folder() as directory:
            yield Path(directory)
    finally:
        signal.signal(signal.SIGTERM, previous)
