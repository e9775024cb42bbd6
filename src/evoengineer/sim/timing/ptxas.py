"""NVIDIA's assembler on a module's PTX: registers, spills, shared memory and machine code of each kernel.

One run per PTX text, started in the background when the module is loaded and kept on disk by the hash of the
text. Without ptxas (or if it refuses) the figures are estimates, and say so.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evoengineer.files import cache_dir

_LOWEST = 75  # of CUDA 13's ptxas
# Volta's multiprocessor holds as many threads as GA100's, twice as many as Turing's: ptxas spends registers alike.
_FOR_VOLTA = 80
_TIMEOUT_SECONDS = 120
_USED = re.compile(r"Used (\d+) registers")
_SPILL = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_ENTRY = re.compile(r"Compiling entry function '([^']+)'")


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
    """ptxas beside the nvcc that compiles programs, else on PATH."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    if home and (Path(home) / "bin/ptxas").is_file():
        return Path(home) / "bin/ptxas"
    found = shutil.which("ptxas")
    if found:
        return Path(found)
    from evoengineer.errors import ToolchainError
    from evoengineer.toolchain.compilers import find_toolchain

    try:
        beside = find_toolchain().nvcc.parent / "ptxas"
    except ToolchainError:
        return None
    return beside if beside.is_file() else None


def _assemble(text: str, sm: int) -> Assembly:
    target = re.search(r"\.target\s+sm_(\d+)([af]?)", text)
    wanted = max(sm if sm >= _LOWEST else _FOR_VOLTA, int(target.group(1)) if target else 0)
    suffix = target.group(2) if target and int(target.group(1)) == wanted else ""
    arch = f"sm_{wanted}{suffix}"
    key = hashlib.sha256(f"{arch}\0{text}".encode()).hexdigest()[:40]
    directory = cache_dir("ptxas")
    code, notes = directory / f"{key}.cubin", directory / f"{key}.txt"
    try:
        return Assembly(_resources(notes.read_text()), code.read_bytes())
    except OSError:
        pass
    ptxas = find_ptxas()
    if ptxas is None:
        return Assembly({}, b"")
    with tempfile.TemporaryDirectory(prefix="evoengineer-") as scratch:
        source, output = Path(scratch) / "kernel.ptx", Path(scratch) / "kernel.cubin"
        source.write_text(text)
        whole = [] if ".extern .func" not in text else ["-c"]
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
        if run.returncode:
            return Assembly({}, b"")
        said = run.stdout + run.stderr
        _save(code, output.read_bytes())
        _save(notes, said.encode())
        return Assembly(_resources(said), code.read_bytes())


def _save(path: Path, data: bytes) -> None:
    handle, partial = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.replace(partial, path)


def _resources(said: str) -> dict[str, Resources]:
    found: dict[str, Resources] = {}
    name, stack, spill = "", 0, 0
    for line in said.splitlines():
        if entry := _ENTRY.search(line):
            name, stack, spill = entry.group(1), 0, 0
        elif (sizes := _SPILL.search(line)) and name:
            stack, spill = int(sizes.group(1)), int(sizes.group(2)) + int(sizes.group(3))
        elif (used := _USED.search(line)) and name:
            found[name] = Resources(int(used.group(1)), spill, stack)
            name = ""
    return found
