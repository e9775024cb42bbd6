"""NVIDIA's assembler on a module's PTX: registers, spills, shared memory and machine code of each kernel.

One run per PTX text, started in the background when the module is loaded; what came of it is kept on disk. The
ptxas is the one that builds use. Without it (or if it refuses) the figures are estimates, and say so.
"""

from __future__ import annotations

import re
import subprocess
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evoengineer.errors import ToolchainError
from evoengineer.files import Cache, digest, scratch_folder
from evoengineer.toolchain.compilers import find_toolchain
from evoengineer.toolchain.ptxas import parse_usage
from evoengineer.toolchain.toolkit import file_identity, toolkit_of

_LOWEST = 75  # of CUDA 13's ptxas
# Volta's multiprocessor holds as many threads as GA100's, twice as many as Turing's: ptxas spends registers alike.
_FOR_VOLTA = 80
_TIMEOUT_SECONDS = 120
_ASSEMBLED = Cache("ptxas")


@dataclass(frozen=True, slots=True)
class Resources:
    """What ptxas says of a kernel."""

    registers: int
    spill_bytes: int  # stores and loads, per thread, as they stand in the code
    stack_bytes: int
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Assembly:
    resources: dict[str, Resources]
    cubin: bytes  # empty: ptxas is not there, or refused the text


class Assembler:
    """Runs ptxas on one PTX text; `result` waits for it."""

    def __init__(self, text: str, sm: int) -> None:
        self._text, self._sm = text, sm
        self._assembly: Assembly | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def result(self) -> Assembly:
        self._thread.join()
        assert self._assembly is not None
        return self._assembly

    def _run(self) -> None:
        try:
            self._assembly = _assemble(self._text, self._sm)
        except (OSError, subprocess.SubprocessError):
            self._assembly = Assembly({}, b"")


@cache
def find_ptxas() -> Path | None:
    """The ptxas of the nvcc that compiles programs."""
    try:
        return toolkit_of(find_toolchain()).assembler
    except ToolchainError:
        return None


def _assemble(text: str, sm: int) -> Assembly:
    target = re.search(r"\.target\s+sm_(\d+)([af]?)", text)
    wanted = max(sm if sm >= _LOWEST else _FOR_VOLTA, int(target.group(1)) if target else 0)
    suffix = target.group(2) if target and int(target.group(1)) == wanted else ""
    arch = f"sm_{wanted}{suffix}"
    ptxas = find_ptxas()
    if ptxas is None:
        return Assembly({}, b"")
    key = digest(file_identity(ptxas), arch, text)
    kept = _ASSEMBLED.get_object(key, tuple)
    if kept is None:
        kept = _run_ptxas(ptxas, arch, text)
        if kept is None:
            return Assembly({}, b"")
        _ASSEMBLED.put_object(key, kept)
    said, cubin = kept
    return Assembly(_resources(said), cubin)


def _run_ptxas(ptxas: Path, arch: str, text: str) -> tuple[str, bytes] | None:
    """What it says and makes; None if it refuses the text."""
    with scratch_folder() as scratch:
        source, output = scratch / "kernel.ptx", scratch / "kernel.cubin"
        source.write_text(text)
        whole = ["-c"] if ".extern .func" in text else []
        command = [
            str(ptxas),
            "-v",
            f"-arch={arch}",
            "--generate-line-info",
            *whole,
            str(source),
            "-o",
            str(output),
        ]
        run = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)
        return None if run.returncode else (run.stdout + run.stderr, output.read_bytes())


def _resources(said: str) -> dict[str, Resources]:
    return {
        each.symbol: Resources(
            each.registers, each.spill_store_bytes + each.spill_load_bytes, each.stack_bytes
        )
        for each in parse_usage(said)
    }
