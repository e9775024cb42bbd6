"""Running a compiler: what to run, within which limits, and how it ended.

A Runner may be anything that obeys a Command; the default here is a plain process group with a time limit. The
judge passes one that adds its sandbox. Compilers read hostile texts (`#include` of a device file, templates
without an end), so every command has limits.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from evoengineer.errors import ToolchainError


@dataclass(frozen=True, slots=True)
class BuildLimits:
    wall_seconds: float = 120.0
    cpu_seconds: int = 60  # of each compiler
    memory_bytes: int = 8 << 30
    file_bytes: int = 256 << 20
    log_bytes: int = 256 << 10  # of what a compiler says; the rest is not read


@dataclass(frozen=True, slots=True)
class Command:
    """`directory` is the working directory, the only one to write to, and the place for temporary files."""

    arguments: tuple[str, ...]
    directory: Path
    environment: Mapping[str, str]
    readable: tuple[Path, ...]  # besides the system's own directories
    limits: BuildLimits


@dataclass(frozen=True, slots=True)
class Finished:
    code: int  # negative: the signal
    timed_out: bool = False


Runner = Callable[[Command], Finished]


def run_plain(command: Command) -> Finished:
    """A process group of its own, killed as a whole when its time is over."""
    try:
        process = subprocess.Popen(
            command.arguments,
            cwd=command.directory,
            env=dict(command.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise ToolchainError(f"cannot start {command.arguments[0]}: {error}") from error
    try:
        return Finished(process.wait(command.limits.wall_seconds))
    except subprocess.TimeoutExpired:
        return Finished(-signal.SIGKILL, timed_out=True)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
