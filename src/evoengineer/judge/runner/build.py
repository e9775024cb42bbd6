"""Building the runner: once per machine and CUDA version, into the cache.

The same program serves both kinds of device: it links libcudart dynamically, and the environment it starts
with says whose.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from evoengineer.errors import ToolchainError
from evoengineer.files import cache_dir
from evoengineer.kernel.steps import toolkit_of
from evoengineer.toolchain.compilers import Toolchain, find_toolchain

_SOURCES = Path(__file__).parent
_HEADERS = Path(__file__).parents[2] / "kernel" / "headers"
_FLAGS = ("-O2", "-std=c++17", "-pthread", "-Wl,--export-dynamic")


@cache
def runner_program() -> Path:
    """The runner, built if need be."""
    toolchain = find_toolchain()
    sources = sorted(_SOURCES.glob("*.cpp"))
    with_what = (toolchain.nvcc, toolchain.version, toolchain.host.command, _FLAGS)
    digest = hashlib.sha256(repr(with_what).encode())
    for file in (*sources, *sorted(_SOURCES.glob("*.h")), _HEADERS / "evo" / "abi.h"):
        digest.update(file.read_bytes())
    program = cache_dir("native") / f"runner-{digest.hexdigest()[:20]}" / "runner"
    if not program.exists():
        _build(toolchain, sources, program)
    return program


def _build(toolchain: Toolchain, sources: list[Path], program: Path) -> None:
    program.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
        partial = Path(scratch) / "runner"
        run = subprocess.run(
            [*runner_command(toolchain, sources), "-o", str(partial)],
            capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": scratch},
        )  # fmt: skip
        if run.returncode != 0:
            compiler = toolchain.host.command[0]
            raise ToolchainError(
                f"{compiler} cannot build the runner that calls kernels", run.stdout + run.stderr
            )
        os.replace(partial, program)


def runner_command(toolchain: Toolchain, sources: list[Path]) -> list[str]:
    """The host compiler does it alone. libcudart goes by its file: NVIDIA's wheels have no libcudart.so for
    `-lcudart` to find, and nvcc takes no file that ends in `.so.13`.
    """
    toolkit = toolkit_of(toolchain)
    return [
        *(*toolchain.host.command, *_FLAGS, f"-I{_HEADERS}", f"-I{toolkit.include}"),
        *(*map(str, sources), str(toolkit.cudart()), "-ldl"),
    ]


def nvidia_library_folder(toolchain: Toolchain) -> Path:
    """Where NVIDIA's own libcudart lies, for real GPUs."""
    roots = [toolchain.nvcc.resolve().parent.parent, Path("/usr/local/cuda")]
    for root in roots:
        for folder in ("lib64", "lib", "targets/x86_64-linux/lib"):
            if sorted((root / folder).glob("libcudart.so*")):
                return root / folder
    raise ToolchainError(
        f"no libcudart.so beside {toolchain.nvcc}: a real GPU needs NVIDIA's runtime library "
        "(pip install nvidia-cuda-runtime, or install the CUDA toolkit)"
    )
