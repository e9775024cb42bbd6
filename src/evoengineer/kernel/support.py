"""The support library: what the lean headers declare, compiled once per toolchain and linked into every build.

A static archive, so that a candidate carries only what it uses: the kernels behind copies and fills come along
only with texts that copy or fill.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from evoengineer.errors import ToolchainError
from evoengineer.files import cache_dir
from evoengineer.kernel.steps import toolkit_of
from evoengineer.toolchain.compilers import Toolchain

HEADERS = Path(__file__).parent / "headers"
SOURCES = Path(__file__).parent / "support"
_HOST_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-g0", "-w")


@cache
def headers_digest() -> str:
    """Of every file that takes part in a build and is ours."""
    digest = hashlib.sha256()
    for folder in (HEADERS, SOURCES):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:20]


@cache
def toolchain_digest(toolchain: Toolchain) -> str:
    """Changes when a compiler is replaced; costs two look-ups, no process."""
    parts = [str(toolchain.version), *toolchain.flags, *toolchain.host.command]
    for program in (str(toolchain.nvcc), toolchain.host.command[0]):
        found = Path(shutil.which(program) or program).resolve()
        state = found.stat()
        parts.append(f"{found} {state.st_size} {state.st_mtime_ns}")
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]


@cache
def support_archive(toolchain: Toolchain) -> Path:
    """libevo.a, built if need be (a few seconds, once). Any number of processes may build at once."""
    name = hashlib.sha256(f"{headers_digest()} {toolchain_digest(toolchain)}".encode()).hexdigest()[:20]
    archive = cache_dir("native") / f"libevo-{name}.a"
    if archive.exists():
        return archive
    sources = sorted(path for path in SOURCES.iterdir() if path.suffix in (".cpp", ".cu"))
    if not sources:
        raise ToolchainError(f"no sources in {SOURCES.name}: the installation of evoengineer is incomplete")
    with tempfile.TemporaryDirectory(prefix="support-", dir=archive.parent) as scratch:
        with ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)))) as pool:
            objects = list(pool.map(lambda source: _compile(toolchain, source, Path(scratch)), sources))
        partial = Path(scratch) / archive.name
        _run(["ar", "rcsD", str(partial), *(str(each) for each in objects)], "libevo.a")
        os.replace(partial, archive)
    return archive


def _compile(toolchain: Toolchain, source: Path, scratch: Path) -> Path:
    output = scratch / f"{source.stem}.o"
    includes = [f"-I{HEADERS}", f"-I{SOURCES}"]
    if source.suffix == ".cu":
        lowest = toolchain.lowest_architecture()
        command = [
            *(
                str(toolchain.nvcc),
                "-gencode",
                f"arch=compute_{lowest},code=compute_{lowest}",
                *toolchain.flags,
            ),
            *("-std=c++17", "-O2", "--expt-relaxed-constexpr", "--no-compress", "-w"),
            *("-Xcompiler", "-fPIC,-fvisibility=hidden", *includes, "-c", str(source), "-o", str(output)),
        ]
    else:
        command = [
            *(*toolchain.host.command, *_HOST_FLAGS, *includes, f"-I{toolkit_of(toolchain).include}"),
            *("-c", str(source), "-o", str(output)),
        ]
    _run(command, source.name)
    return output


def _run(command: list[str], what: str) -> None:
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ToolchainError(f"cannot start {command[0]}: {error}") from error
    if run.returncode != 0:
        raise ToolchainError(
            f"{command[0]} cannot build {what} of the support library", run.stdout + run.stderr
        )
