"""Compiling a whole CUDA program with the real nvcc, for the simulated GPU.

The executable carries PTX only, which the simulated GPU translates, and links libcudart dynamically, so
that ours takes its place. This module owns the nvcc command line; it does not run what it builds.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evoengineer.errors import CompileError, UsageError
from evoengineer.toolchain.compilers import Toolchain
from evoengineer.toolchain.curand import HINT as CURAND_HINT
from evoengineer.toolchain.curand import curand_folders, includes_curand

_TEXTS = (".cu", ".cpp", ".cc", ".cxx", ".c")
SOURCE_SUFFIXES = (*_TEXTS, ".o", ".a")

_ARCHITECTURE_OPTION = re.compile(
    r"--?(arch|gpu-architecture|gencode|generate-code|code|gpu-code)(?:=(.*))?", re.DOTALL
)
_CUDART_OPTION = re.compile(r"--?cudart(=.*)?")
_TARGET = re.compile(r"\b(?:sm|compute|lto)_\w+")


REMOVED_CALLS = Path(__file__).parents[1] / "sim/cudart/removed.h"


@dataclass(frozen=True, slots=True)
class Program:
    """What to compile: source files (or objects), and options to hand to nvcc as they are."""

    sources: tuple[Path, ...]
    nvcc_args: tuple[str, ...] = ()


def check_program(program: Program) -> None:
    """Refuse what can be refused without starting a compiler."""
    for source in program.sources:
        if not source.exists():
            raise UsageError(f"{source}: no such file. Arguments for the program itself go after `--`.")
        if source.is_dir():
            raise UsageError(f"{source} is a directory; name its source files")
        if source.suffix not in SOURCE_SUFFIXES:
            raise UsageError(
                f"{source} is not a CUDA or C++ source ({', '.join(SOURCE_SUFFIXES)}). "
                "To run an executable: evoengineer sim exec"
            )
    if any(_CUDART_OPTION.fullmatch(argument) for argument in program.nvcc_args):
        raise UsageError(
            "--nvcc-arg: --cudart is not yours to choose here: the simulated GPU brings its own runtime"
        )
    _check_targets(program.nvcc_args)


def nvcc_command(
    program: Program, output: Path, toolchain: Toolchain, sm: int, cudart_dir: Path
) -> list[str]:
    """The command line, in nvcc's own terms. `sm` is the device's compute capability, 89 for 8.9."""
    includes = dict.fromkeys(str(source.parent) for source in program.sources)
    return [
        str(toolchain.nvcc),
        *(() if chooses_architecture(program.nvcc_args) else _architecture_flags(toolchain, sm)),
        "-lineinfo",  # errors name source lines
        "--no-compress",
        # nvcc's default leaves host code unoptimised, and programs check themselves on the host.
        *(() if any(re.match(r"-O\d|-g$|-G$", a) for a in program.nvcc_args) else ("-O2",)),
        *("-include", str(REMOVED_CALLS)),
        # Not `none`: nvcc then leaves out the device link step that -rdc=true programs need.
        *("--cudart", "shared", "--cudadevrt", "none"),
        *("-L", str(cudart_dir)),  # before NVIDIA's own directories
        *toolchain.flags,
        *(f"-I{directory}" for directory in (*includes, *_curand(program, toolchain))),
        # The device runtime serves dynamic parallelism only; without it, that fails by name.
        *(argument for argument in program.nvcc_args if argument != "-lcudadevrt"),
        *(str(source) for source in program.sources),
        *_libraries(program.nvcc_args),
        *("-o", str(output)),
    ]


def compile_program(program: Program, output: Path, toolchain: Toolchain, sm: int, cudart_dir: Path) -> str:
    """Build the executable `output`; returns what nvcc had to say (warnings)."""
    check_program(program)
    command = nvcc_command(program, output, toolchain, sm, cudart_dir)
    # nvcc leaves its temporary files behind when it is killed: keep them beside the output.
    environment = {**os.environ, "TMPDIR": str(output.parent)}
    try:
        run = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise CompileError(f"cannot start {toolchain.nvcc}: {error}") from error
    log = run.stdout + run.stderr
    names = ", ".join(str(source) for source in program.sources)
    if run.returncode != 0:
        raise CompileError(f"nvcc does not compile {names}", log)
    if not output.exists():
        raise CompileError(
            f"nvcc made no executable from {names}: do the options stop it before linking?", log
        )
    return log


def _curand(program: Program, toolchain: Toolchain) -> tuple[Path, ...]:
    """Folders with cuRAND's headers, for programs that ask for them; a header of the program's may ask, too."""
    found = curand_folders(toolchain)
    if found is not None:
        return found
    texts = (
        source.read_text(encoding="utf-8", errors="replace")
        for source in program.sources
        if source.suffix in _TEXTS
    )
    if any(map(includes_curand, texts)):
        raise CompileError(CURAND_HINT)
    return ()


def chooses_architecture(nvcc_args: Sequence[str]) -> bool:
    """Whether the caller's own options say what to compile for."""
    return any(_ARCHITECTURE_OPTION.fullmatch(argument) for argument in nvcc_args)


def _architecture_flags(toolchain: Toolchain, sm: int) -> tuple[str, str]:
    sm = max(sm, toolchain.lowest_architecture())
    return "-gencode", f"arch=compute_{sm},code=compute_{sm}"


def _libraries(nvcc_args: Sequence[str]) -> tuple[str, ...]:
    """Libraries once more, after the sources: linkers drop what nothing has asked for yet."""
    others = ("-lineinfo", "-lcudadevrt")
    return tuple(word for word in nvcc_args if re.fullmatch(r"-l\w\S*", word) and word not in others)


def _check_targets(nvcc_args: Sequence[str]) -> None:
    """Machine code cannot run here: at least one target must be PTX."""
    generated = set()
    for option, value in _architecture_options(nvcc_args):
        if option in ("arch", "gpu-architecture"):
            continue  # without a `code` this yields PTX; with one, `code` decides
        generated.update(_TARGET.findall(value.partition("code=")[2] or value))
    if generated and not any(target.startswith("compute_") for target in generated):
        numbers = sorted(target.partition("_")[2] for target in generated)
        raise UsageError(
            f"--nvcc-arg: {', '.join(sorted(generated))} is machine code, but the simulated GPU runs PTX. "
            f"Use code=compute_{numbers[-1]}"
        )


def _architecture_options(nvcc_args: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs of option and value, whether written `-arch=x` or as two arguments."""
    for position, argument in enumerate(nvcc_args):
        found = _ARCHITECTURE_OPTION.fullmatch(argument)
        if found:
            following = nvcc_args[position + 1] if position + 1 < len(nvcc_args) else ""
            yield found[1], following if found[2] is None else found[2]
