"""Building our own C++ parts on first use, into a cache that is addressed by content.

The simulated GPU's runtime, its libcudart and the sandbox's launcher come as sources and are compiled by the
host compiler that was found. This module owns the cache of their objects, libraries and programs; it compiles
nothing that a candidate wrote.
"""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from evoengineer.errors import ToolchainError
from evoengineer.files import cache_dir
from evoengineer.toolchain.compilers import HostCompiler, find_host_compiler


def build_shared(
    sources: Sequence[Path], name: str, flags: Sequence[str], link_flags: Sequence[str] = ()
) -> Path:
    """A shared library `name` made of C++ sources, from the cache if nothing has changed.

    Headers beside the sources count as part of them. Any number of processes may build at once.
    """
    return _build(sources, name, flags, ("-shared",), link_flags)


def build_executable(
    sources: Sequence[Path], name: str, flags: Sequence[str], link_flags: Sequence[str] = ()
) -> Path:
    """A program `name` made of C++ sources, from the cache if nothing has changed."""
    return _build(sources, name, flags, (), link_flags)


def _build(
    sources: Sequence[Path],
    name: str,
    flags: Sequence[str],
    kind_flags: Sequence[str],
    link_flags: Sequence[str],
) -> Path:
    if not sources:
        raise ToolchainError(f"no sources for {name}: the installation of evoengineer is incomplete")
    compiler = find_host_compiler()
    folders = {source.parent for source in sources}
    headers = sorted(header for folder in folders for header in folder.glob("*.h"))
    common = _digest(_identity(compiler), *flags, *(_content(header) for header in headers))
    directory = cache_dir("native")
    objects = [directory / f"{s.stem}-{_digest(common, s.name, _content(s))}.o" for s in sources]
    linked = _digest(name, *kind_flags, *link_flags, *(o.name for o in objects))
    output = directory / f"{Path(name).stem}-{linked}" / name
    if output.exists():
        return output
    output.parent.mkdir(exist_ok=True)
    missing = [(s, o) for s, o in zip(sources, objects, strict=True) if not o.exists()]
    with ThreadPoolExecutor(max(1, min(len(missing), len(os.sched_getaffinity(0))))) as pool:
        list(pool.map(lambda each: _make(compiler, [*flags, "-c", str(each[0])], each[1]), missing))
    _make(compiler, [*kind_flags, *flags, *(str(o) for o in objects), *link_flags], output)
    return output


def _identity(compiler: HostCompiler) -> str:
    run = subprocess.run([*compiler.command, "--version"], capture_output=True, text=True, check=False)
    return " ".join(compiler.command) + run.stdout


def _content(path: Path) -> str:
    return path.name + "\0" + path.read_text(encoding="utf-8")


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]


def _make(compiler: HostCompiler, arguments: Sequence[str], output: Path) -> None:
    """Run the compiler for one output; it appears under its name only when complete."""
    handle, partial = tempfile.mkstemp(prefix=output.stem, suffix=".part", dir=output.parent)
    os.close(handle)
    try:
        run = subprocess.run(
            [*compiler.command, *arguments, "-o", partial], capture_output=True, text=True, check=False
        )
        if run.returncode != 0:
            what = next((a for a in arguments if a.endswith(".cpp")), output.name)
            raise ToolchainError(
                f"{compiler.command[0]} ({compiler.reason}) cannot build {Path(what).name}",
                run.stdout + run.stderr,
            )
        os.chmod(partial, 0o755)
        os.replace(partial, output)
    finally:
        Path(partial).unlink(missing_ok=True)
