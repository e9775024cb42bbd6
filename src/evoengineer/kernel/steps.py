"""The steps of nvcc as one shell script, the host and the device half side by side.

nvcc runs its steps one after the other. Its own `--dryrun` says which they are; with the identity of the module
fixed beforehand (`kernel.module_id`), cudafe++ and cicc no longer wait for each other. A fixed identity and
fixed names also make the same text give the same bytes. If the steps of some nvcc are not the known ones, the
script calls nvcc itself.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from evoengineer.toolchain.compilers import Toolchain
from evoengineer.toolchain.toolkit import assigned, dryrun

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
    for line in dryrun(toolchain, (*flags, "-include", "evo_words.h")):
        assignment = assigned(line)
        if assignment:
            environment[assignment[0]] = assignment[1]
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
