"""NVIDIA's assembler on a module's PTX: registers, spills, shared memory and machine code of each kernel.

One run per PTX text, started in the background when the module is loaded; what came of it is kept on disk, and a build
that has run it leaves its result here. The ptxas is the one that builds use. Without it the figures are estimates, and
say so. It runs on text that anybody may have written: within limits, and never longer than this process.
"""

from __future__ import annotations

import re
import resource
import signal
import subprocess
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evoengineer.errors import ToolchainError
from evoengineer.files import Cache, digest, scratch_folder
from evoengineer.lifetime import die_with_parent
from evoengineer.toolchain.compilers import find_toolchain
from evoengineer.toolchain.ptxas import parse_usage
from evoengineer.toolchain.toolkit import file_identity, toolkit_of

_LOWEST = 75  # of CUDA 13's ptxas
# Volta's multiprocessor holds as many threads as GA100's, twice as many as Turing's: ptxas spends registers alike.
_FOR_VOLTA = 80
_TIMEOUT_SECONDS = 1200  # wall time, in case it hangs: work is bounded by CPU time
_LIMITS = {
    resource.RLIMIT_CPU: 120,
    resource.RLIMIT_AS: 8 << 30,
    resource.RLIMIT_FSIZE: 512 << 20,
    resource.RLIMIT_CORE: 0,
}
OPTIONS = ("-v", "--generate-line-info")  # besides the architecture
_ASSEMBLED = Cache("ptxas")
_EXTERN = re.compile(r"\.extern\s+\.func\s+(?:\([^)]*\)\s*)?([\w$]+)")
_OF_THE_SYSTEM = frozenset({"vprintf", "__assertfail", "malloc", "free"})


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
    refusal: str = ""  # what it said when it refused
    failure: str = ""  # why it could not do its work, which says nothing of the text


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
        except _Refused as error:
            self._assembly = Assembly({}, b"", refusal=str(error))
        except (OSError, subprocess.SubprocessError) as error:
            self._assembly = Assembly({}, b"", failure=f"ptxas could not be run: {error}")


@cache
def find_ptxas() -> Path | None:
    """The ptxas of the nvcc that compiles programs."""
    try:
        return toolkit_of(find_toolchain()).assembler
    except ToolchainError:
        return None


def _assemble(text: str, sm: int) -> Assembly:
    ptxas = find_ptxas()
    if ptxas is None:
        return Assembly({}, b"")
    key = _key(ptxas, text, sm)
    kept = _ASSEMBLED.get_object(key, tuple)
    if kept is None:
        kept = _run_ptxas(ptxas, _architecture(text, sm), text)
        _ASSEMBLED.put_object(key, kept)
    said, cubin = kept
    return Assembly(_resources(said), cubin)


def keep_assembly(text: str, sm: int, said: str, cubin: bytes) -> None:
    """A compilation has run ptxas on a text already, with `OPTIONS` for `sm_{sm}`: not again, then."""
    ptxas = find_ptxas()
    if ptxas is not None and _architecture(text, sm) == f"sm_{sm}" and not _calls_elsewhere(text):
        _ASSEMBLED.put_object(_key(ptxas, text, sm), (said, cubin))


def _key(ptxas: Path, text: str, sm: int) -> str:
    how = "linked" if _calls_elsewhere(text) else "whole"
    return digest(file_identity(ptxas), _architecture(text, sm), how, text)


def _architecture(text: str, sm: int) -> str:
    """What to assemble for: the card, or what the text says, if that is newer."""
    target = re.search(r"\.target\s+sm_(\d+)([af]?)", text)
    wanted = max(sm if sm >= _LOWEST else _FOR_VOLTA, int(target.group(1)) if target else 0)
    suffix = target.group(2) if target and int(target.group(1)) == wanted else ""
    return f"sm_{wanted}{suffix}"


class _Refused(Exception):
    """ptxas does not accept the text; the message is what it said."""


def _caged() -> None:
    """(In the child.) Limits, and an end with the process that started it."""
    for kind, most in _LIMITS.items():
        resource.setrlimit(kind, (most, most))
    die_with_parent()


# It fell over the text, and would anywhere; other signals come from outside and say nothing of it.
_OWN_FAULTS = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}


def _calls_elsewhere(text: str) -> bool:
    """Are there functions that another text must define? Those of the system are known to ptxas, and code that may
    be linked later is not optimised as well: shared loads are no longer merged, for one."""
    return bool(set(_EXTERN.findall(text)) - _OF_THE_SYSTEM)


def _run_ptxas(ptxas: Path, arch: str, text: str) -> tuple[str, bytes]:
    """What it says and makes."""
    with scratch_folder() as scratch:
        source, output = scratch / "kernel.ptx", scratch / "kernel.cubin"
        source.write_text(text)
        whole = ["-c"] if _calls_elsewhere(text) else []
        command = [
            str(ptxas),
            *OPTIONS,
            f"-arch={arch}",
            *whole,
            str(source),
            "-o",
            str(output),
        ]
        run = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TIMEOUT_SECONDS,
            check=False,
            preexec_fn=_caged,
        )
        said = run.stdout + run.stderr
        if run.returncode in (-signal.SIGXCPU, -signal.SIGXFSZ):
            raise _Refused(
                f"{said}\nptxas needs more than {_LIMITS[resource.RLIMIT_CPU]} seconds of CPU time, or more space"
            )
        if -run.returncode in _OWN_FAULTS:
            raise _Refused(f"{said}\nptxas crashed on this code: {signal.Signals(-run.returncode).name}")
        if run.returncode < 0:
            raise OSError(f"it was ended by signal {-run.returncode}")
        if run.returncode:
            raise _Refused(said.replace(str(source), "kernel.ptx"))
        return said, output.read_bytes()


def _resources(said: str) -> dict[str, Resources]:
    return {
        each.symbol: Resources(
            each.registers, each.spill_store_bytes + each.spill_load_bytes, each.stack_bytes
        )
        for each in parse_usage(said)
    }
