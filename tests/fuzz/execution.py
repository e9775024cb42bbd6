"""Compiling a fuzz program twice and running it: as C++ emulation and on the simulated GPU.

Programs run through the command line (`evoengineer sim exec`), as a user's would.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from evoengineer.kernel.program import Program, compile_program
from evoengineer.toolchain.compilers import find_host_compiler, find_toolchain

HERE = Path(__file__).parent
# No contraction and no assumptions about overflow or aliasing: the emulation is the definition.
EMULATION_FLAGS = (
    "-x",
    "c++",
    "-std=c++17",
    "-O1",
    "-w",
    "-ffp-contract=off",
    "-fwrapv",
    "-fno-strict-aliasing",
)
NVCC_FLAGS = ("-std=c++17", "-fmad=false", "-w", f"-I{HERE}")
# Against a hang only: generated kernels take milliseconds, but a machine may be very busy.
KERNEL_SECONDS = 600
RUN_SECONDS = 1800


@dataclass(frozen=True)
class Mode:
    """One way to run a program on the simulated GPU."""

    translation: str  # "optimised" or "varying" (every value a 32-lane vector, every block masked)
    threads: int
    checks: str = "memory"

    @property
    def name(self) -> str:
        extra = "" if self.checks == "memory" else f" check={self.checks}"
        return f"{self.translation} threads={self.threads}{extra}"


MODES = (Mode("optimised", 1), Mode("varying", 1), Mode("optimised", 2), Mode("varying", 2))
CHECKED = Mode("optimised", 1, "all")


@dataclass(frozen=True)
class Outcome:
    """What a program printed: a line per kernel, and how it ended."""

    lines: dict[str, str]
    exit_code: int
    log: str


class BuildError(Exception):
    """A compiler refuses a generated program: the generator is wrong (or a reduction step went too far)."""


def build_emulation(source: Path) -> Path:
    compiler = find_host_compiler()
    output = source.with_suffix(".emulation")
    gcc_only = () if "clang" in compiler.command[0] else ("-fno-ipa-reference",)
    command = [*compiler.command, *EMULATION_FLAGS, *gcc_only, f"-I{HERE}", str(source), "-o", str(output)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise BuildError(f"{source} does not compile as C++:\n{run.stderr[:3000]}")
    return output


def build_simulated(source: Path) -> Path:
    from evoengineer.errors import CompileError
    from evoengineer.sim.cudart.library import cudart_directory

    output = source.with_suffix(".simulated")
    try:
        compile_program(Program((source,), NVCC_FLAGS), output, find_toolchain(), 89, cudart_directory())
    except CompileError as error:
        raise BuildError(f"{source} does not compile as CUDA: {error}") from error
    return output


def build_ptx(source: Path) -> Path:
    """The PTX alone, for statistics; needs nothing of the simulated GPU."""
    toolchain = find_toolchain()
    output = source.with_suffix(".ptx")
    target = ("-gencode", "arch=compute_89,code=compute_89")
    command = [
        str(toolchain.nvcc),
        "-ptx",
        *target,
        *toolchain.flags,
        *NVCC_FLAGS,
        str(source),
        "-o",
        str(output),
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise BuildError(f"{source} does not compile as CUDA:\n{(run.stdout + run.stderr)[:3000]}")
    return output


def run_emulation(program: Path, *arguments: str) -> Outcome:
    return _run([str(program), *arguments], dict(os.environ))


def run_simulated(program: Path, mode: Mode, *arguments: str) -> Outcome:
    environment = {**os.environ, "EVOENGINEER_SIM_MODE": mode.translation}
    command = [
        sys.executable,
        "-m",
        "evoengineer",
        "sim",
        "exec",
        str(program),
        "--threads",
        str(mode.threads),
    ]
    command += ["--max-seconds", str(KERNEL_SECONDS), "--check", mode.checks, "--", *arguments]
    return _run(command, environment)


def _run(command: list[str], environment: dict[str, str]) -> Outcome:
    try:
        run = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace",
                             check=False, timeout=RUN_SECONDS)  # fmt: skip
    except subprocess.TimeoutExpired as error:
        printed = (
            error.stdout.decode(errors="replace") if isinstance(error.stdout, bytes) else error.stdout or ""
        )
        return Outcome(_lines(printed), -1, f"no end after {RUN_SECONDS} s")
    return Outcome(_lines(run.stdout), run.returncode, run.stderr[-2000:] or run.stdout[-500:])


def _lines(text: str) -> dict[str, str]:
    """Name of the kernel (or output element) → what was printed for it."""
    pairs = (line.partition(" ")[::2] for line in text.splitlines() if " " in line)
    return dict(pairs)
