"""Compiling a kernel against the real PyTorch headers: does what the lean headers accept also build for users?

Minutes of CPU per kernel, so nothing in judging uses it; `suite verify --torch-headers` and `export` do. Compiled
only, not linked: a CPU build of PyTorch has the headers for CUDA, but not its libraries.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sysconfig
import time
from dataclasses import dataclass
from pathlib import Path

from evoengineer.errors import ToolchainError
from evoengineer.files import scratch_folder
from evoengineer.kernel.text import NO_HALF_OPERATORS, lambda_flags, uses_half_operators
from evoengineer.toolchain.compilers import Toolchain, find_toolchain

SM = 89
_MOST_LOG_LINES = 20


@dataclass(frozen=True, slots=True)
class HeaderCheck:
    """`log` holds the compiler's first words when it refused."""

    compiles: bool
    seconds: float
    log: str


def compile_with_torch_headers(source: str, sm: int = SM) -> HeaderCheck:
    toolchain = find_toolchain()
    with scratch_folder() as folder:
        (Path(folder) / "kernel.cu").write_text(source, encoding="utf-8")
        begin = time.monotonic()
        run = subprocess.run(
            [
                *torch_command(toolchain, sm, half_operators=uses_half_operators(source)),
                *lambda_flags(source),
            ],
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        seconds = time.monotonic() - begin
    lines = (run.stdout + run.stderr).splitlines()
    return HeaderCheck(run.returncode == 0, seconds, "\n".join(lines[:_MOST_LOG_LINES]))


def torch_command(
    toolchain: Toolchain,
    sm: int,
    source: str = "kernel.cu",
    output: str = "kernel.o",
    *,
    half_operators: bool = False,
) -> list[str]:
    """What torch.utils.cpp_extension would call, up to linking."""
    include = torch_include()
    return [
        *(str(toolchain.nvcc), *toolchain.flags, "-gencode", f"arch=compute_{sm},code=sm_{sm}"),
        *("-c", "-O2", "-std=c++20", "--expt-relaxed-constexpr", "-Xcompiler", "-fPIC"),
        "-DTORCH_EXTENSION_NAME=kernel",
        *(() if half_operators else NO_HALF_OPERATORS),
        *(f"-I{include}", f"-I{include / 'torch/csrc/api/include'}"),
        *(f"-I{sysconfig.get_path('include')}", source, "-o", output),
    ]


def torch_include() -> Path:
    """PyTorch's headers, found without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise ToolchainError("PyTorch is not installed, so its headers are not here: pip install torch")
    include = Path(spec.origin).parent / "include"
    if not (include / "torch" / "extension.h").exists():
        raise ToolchainError(f"the installed PyTorch has no C++ headers in {include}")
    return include
