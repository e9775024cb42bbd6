"""Building our own C++ and CUDA parts on first use, into a cache that is addressed by content.

The simulated GPU's runtime, its libcudart, the runner, the sandbox's launcher and the library behind the lean
headers come as sources. This module owns the cache of their objects, libraries and programs; it compiles nothing
that a candidate wrote. Any number of processes may build at once. What comes from the cache has been checked.
"""

import os
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evoengineer.errors import ToolchainError
from evoengineer.files import Cache, Folders, contents, digest, private_folder, scratch_folder
from evoengineer.toolchain.compilers import HostCompiler, Toolchain, find_host_compiler
from evoengineer.toolchain.toolkit import toolchain_digest

_OBJECTS = Cache("objects")
_OUTPUTS = Folders("native")

on_build: Callable[[str], None] = lambda name: None  # noqa: E731 - told what is built, since that takes a while


@dataclass(frozen=True, slots=True)
class Part:
    """A library or program; what is called `….a` is a static archive.

    Headers beside the sources and all files in `includes` count as part of them. `links` are further names in its
    folder. `toolchain` is needed for sources that end in .cu; `cuda` are nvcc's options for those.
    """

    name: str
    sources: tuple[Path, ...]
    flags: tuple[str, ...]
    link_flags: tuple[str, ...] = ()
    includes: tuple[Path, ...] = ()
    links: tuple[str, ...] = ()
    toolchain: Toolchain | None = None
    cuda: tuple[str, ...] = ()


def build_shared(
    sources: Sequence[Path], name: str, flags: Sequence[str], link_flags: Sequence[str] = ()
) -> Path:
    """A shared library `name` made of C++ sources."""
    return build(Part(name, tuple(sources), tuple(flags), ("-shared", *link_flags)))


def build_executable(
    sources: Sequence[Path], name: str, flags: Sequence[str], link_flags: Sequence[str] = ()
) -> Path:
    """A program `name` made of C++ sources."""
    return build(Part(name, tuple(sources), tuple(flags), tuple(link_flags)))


def build(part: Part) -> Path:
    """The library or program, from the cache if nothing has changed. Ask again rather than keep the answer:
    what was there may have been deleted meanwhile."""
    if not part.sources:
        raise ToolchainError(f"no sources for {part.name}: the installation of evoengineer is incomplete")
    compiler = part.toolchain.host if part.toolchain else find_host_compiler()
    keys = _object_keys(part, compiler)
    key = f"{Path(part.name).stem}-{digest(part.name, *part.flags, '', *part.link_flags, '', *part.links, '', *keys)}"
    folder = _OUTPUTS.find(key)
    if folder is None:
        on_build(part.name)
        folder = private_folder()
        with scratch_folder() as scratch:
            with ThreadPoolExecutor(min(len(keys), len(os.sched_getaffinity(0)))) as pool:
                objects = list(
                    pool.map(lambda *each: _object(part, compiler, scratch, *each), part.sources, keys)
                )
            _link(part, compiler, objects, folder / part.name, scratch)
        for link in part.links:
            (folder / link).symlink_to(part.name)
        folder = _OUTPUTS.keep(key, folder)
    return folder / part.name


@cache
def _object_keys(part: Part, compiler: HostCompiler) -> tuple[str, ...]:
    """One for each source; sources do not change while a process runs."""
    beside = sorted(
        path
        for folder in {source.parent for source in part.sources}
        for path in folder.iterdir()
        if path.suffix in (".h", ".cuh", ".map")
    )
    headers = [each for path in beside for each in (path.name, path.read_bytes())]
    headers += [each for folder in part.includes for each in contents(folder)]
    compilers = toolchain_digest(part.toolchain) if part.toolchain else _version(compiler)
    common = digest(compilers, *part.flags, "", *part.cuda, "", *headers)
    return tuple(digest(common, source.name, source.read_bytes()) for source in part.sources)


@cache
def _version(compiler: HostCompiler) -> str:
    run = subprocess.run(
        [*compiler.command, "--version"], capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    return " ".join(compiler.command) + run.stdout


def _object(part: Part, compiler: HostCompiler, scratch: Path, source: Path, key: str) -> Path:
    output = scratch / f"{source.name}.o"
    kept = _OBJECTS.get(key)
    if kept is not None:
        output.write_bytes(kept)
        return output
    if source.suffix == ".cu" and part.toolchain:
        command = [str(part.toolchain.nvcc), *part.toolchain.flags, *part.cuda]
    else:
        command = [*compiler.command, *part.flags]
    includes = [f"-I{folder}" for folder in (*part.includes, source.parent)]
    _run([*command, *includes, "-c", str(source), "-o", str(output)], source.name, scratch)
    _OBJECTS.put(key, output.read_bytes())
    return output


def _link(part: Part, compiler: HostCompiler, objects: list[Path], output: Path, scratch: Path) -> None:
    if output.suffix == ".a":
        command = ["ar", "rcsD", str(output), *map(str, objects)]
    else:
        command = [*compiler.command, *part.flags, *map(str, objects), *part.link_flags, "-o", str(output)]
    _run(command, part.name, scratch)


def _run(command: list[str], what: str, scratch: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(scratch)}
    try:
        run = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            env=environment,
            process_group=0,
        )
    except OSError as error:
        raise ToolchainError(f"cannot start {command[0]}: {error}") from error
    if run.returncode != 0:
        raise ToolchainError(f"{command[0]} cannot build {what}", run.stdout + run.stderr)
