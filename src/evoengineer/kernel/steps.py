"""The steps of nvcc as one shell script, the host and the device half side by side.

nvcc runs its steps one after the other. Its own `--dryrun` says which they are; with the identity of the module
fixed beforehand (`kernel.module_id`), cudafe++ and cicc no longer wait for each other. A fixed identity and
fixed names also make the same text give the same bytes. If the steps of some nvcc are not the known ones, the
script calls nvcc itself.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from evoengineer.errors import ToolchainError
from evoengineer.files import cache_dir
from evoengineer.toolchain.compilers import Toolchain

_ASSIGNMENT = re.compile(r"^(?P<name>\w+)=(?P<value>.*)$")
_EXPORTED = ("PATH", "CICC_PATH", "NVVMIR_LIBRARY_DIR", "LD_LIBRARY_PATH")
_MARK = '-include "evo_words.h"'  # where nvcc puts what comes before the text
MODULE_ID = "_00000000_9_kernel_cu_00000000"


@dataclass(frozen=True, slots=True)
class Steps:
    """Shell commands; `host` and `device` may run at once, `compile` needs both."""

    environment: tuple[tuple[str, str], ...]
    host: tuple[str, ...]
    device: tuple[str, ...]
    compile: str

    def __bool__(self) -> bool:
        return bool(self.compile)


@dataclass(frozen=True, slots=True)
class Toolkit:
    """Places of the CUDA installation that nvcc itself uses."""

    root: Path
    include: Path
    libraries: tuple[Path, ...]

    def cudart(self) -> Path:
        for directory in self.libraries:
            for library in sorted(directory.glob("libcudart.so*")):
                return library
        places = ", ".join(str(directory) for directory in self.libraries)
        raise ToolchainError(
            f"no libcudart.so in {places}. Install CUDA's runtime: pip install 'evoengineer[cuda-compiler]'"
        )


def nvcc_steps(toolchain: Toolchain, flags: tuple[str, ...], words: tuple[str, ...]) -> Steps:
    """The steps that nvcc would take for `nvcc -c kernel.cu`, in relative names.

    `words` (-D, -include) concern the preprocessor only and vary with every text; nvcc is asked once per `flags`.
    """
    steps = _steps(toolchain, flags)
    options = " ".join(shlex.quote(word) for word in words)
    return replace(
        steps,
        host=tuple(step.replace(_MARK, options) for step in steps.host),
        device=tuple(step.replace(_MARK, options) for step in steps.device),
    )


@cache
def _steps(toolchain: Toolchain, flags: tuple[str, ...]) -> Steps:
    environment: dict[str, str] = {}
    commands = []
    for line in _dryrun(toolchain, (*flags, "-include", "evo_words.h")):
        assignment = _ASSIGNMENT.match(line)
        if assignment and " " not in assignment["name"]:
            environment[assignment["name"]] = assignment["value"].strip()
        elif not line.startswith("rm "):
            commands.append(
                line.replace('"/kernel.cu"', '"kernel.cu"').replace(" --gen_module_id_file ", " ")
            )
    exported = tuple((name, environment[name]) for name in _EXPORTED if name in environment)
    return _arranged(exported, commands)


def _arranged(environment: tuple[tuple[str, str], ...], commands: Sequence[str]) -> Steps:
    front_end = next((i for i, command in enumerate(commands) if command.startswith("cudafe++ ")), -1)
    known = (
        front_end == 1
        and " -E " in commands[0]
        and len(commands) >= 5
        and " -c " in commands[-1]
        and all("kernel." in command for command in commands)
        and all(_MARK in command for command in commands if " -E " in command)
        and not any("/tmp/tmpxft" in command for command in commands)
    )
    if not known:
        return Steps((), (), (), "")
    return Steps(environment, tuple(commands[:2]), tuple(commands[2:-1]), commands[-1])


@cache
def toolkit_of(toolchain: Toolchain) -> Toolkit:
    """Root, headers and libraries, from what nvcc says of itself."""
    words = {}
    for line in _dryrun(toolchain, toolchain.flags):
        assignment = _ASSIGNMENT.match(line)
        if assignment:
            words[assignment["name"]] = shlex.split(assignment["value"])
    root = Path(words["TOP"][0]).resolve() if words.get("TOP") else toolchain.nvcc.resolve().parent.parent
    includes = [Path(word[2:]) for word in words.get("INCLUDES", []) if word.startswith("-I")]
    libraries = [Path(word[2:]) for word in words.get("LIBRARIES", []) if word.startswith("-L")]
    libraries += [root / "lib64", root / "lib"]
    include = next((place for place in includes if (place / "cuda_runtime_api.h").exists()), root / "include")
    return Toolkit(
        root,
        include.resolve(),
        tuple(dict.fromkeys(p.resolve() for p in libraries if p.exists() and p.name != "stubs")),
    )


def _dryrun(toolchain: Toolchain, flags: tuple[str, ...]) -> list[str]:
    """What nvcc says it would do; kept on disk, since it is asked for in every process."""
    nvcc = toolchain.nvcc
    state = nvcc.stat()
    asked = (nvcc, state.st_size, state.st_mtime_ns, toolchain.version, flags)
    surroundings = [os.environ.get(name, "") for name in ("PATH", "LD_LIBRARY_PATH", "NVCC_PREPEND_FLAGS")]
    key = hashlib.sha256(repr((asked, surroundings)).encode()).hexdigest()[:20]
    kept = cache_dir("native") / f"steps-{key}.txt"
    try:
        return kept.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        pass
    command = [str(nvcc), "--dryrun", "--keep", *flags, "-c", "kernel.cu", "-o", "kernel.o"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd="/")
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"{nvcc} does not run: {error}") from error
    if run.returncode != 0:
        raise ToolchainError(f"{nvcc} --dryrun fails", run.stdout + run.stderr)
    lines = [line.removeprefix("#$ ").strip() for line in run.stderr.splitlines() if line.startswith("#$ ")]
    partial = kept.with_name(f"{kept.name}.{os.getpid()}.{threading.get_ident()}")
    partial.write_text("\n".join(lines), encoding="utf-8")
    os.replace(partial, kept)
    return lines
