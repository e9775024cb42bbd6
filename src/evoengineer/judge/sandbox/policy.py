"""What a sandboxed command may do: value objects, and the two policies that the judge uses.

A policy names everything that the command can see and spend; what it does not name does not exist inside. This
module owns the presets; it starts nothing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

_MEGABYTE = 1 << 20
_GIGABYTE = 1 << 30

# What a dynamically linked program needs to start. Not all exist everywhere.
_SYSTEM_LIBRARIES = ("/usr/lib", "/usr/lib64", "/usr/lib32", "/lib", "/lib64", "/lib32", "/etc/ld.so.cache")
_SYSTEM_PROGRAMS = ("/usr", "/bin", "/sbin", "/etc/alternatives")
_STORES = ("/nix/store", "/gnu/store")  # where some systems keep all of the above
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


@dataclass(frozen=True, slots=True)
class Policy:
    """Files by path (with what is below), the whole environment, and limits for the command and its descendants.

    Limits count all processes together, but `file_bytes` and `open_files`, which hold for each; `memory_bytes`
    is both a limit on each one's private memory and on what all of them have resident. Zero means no limit. The
    environment is no place for secrets: the launcher's arguments, which carry it, are visible in the host's /proc.
    """

    readable: tuple[Path, ...]
    writable: tuple[Path, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    memory_bytes: int = 4 * _GIGABYTE
    cpu_seconds: float = 60.0
    wall_seconds: float = 60.0
    processes: int = 64  # threads count, too
    file_bytes: int = 256 * _MEGABYTE
    disk_bytes: int = _GIGABYTE
    open_files: int = 256
    network: bool = False
    programs: bool = False  # may start other processes and programs
    gpu: bool = False  # may talk to an NVIDIA driver
    directory: Path | None = None  # where it starts; the first writable one by default

    def with_limits(self, **limits: float) -> Policy:
        """The same with other limits: `policy.with_limits(wall_seconds=5)`."""
        return replace(self, **limits)  # type: ignore[arg-type]

    def devices(self) -> tuple[Path, ...]:
        """The device files that the command sees."""
        plain = [Path(name) for name in _DEVICES]
        nvidia = sorted(Path("/dev").glob("nvidia*")) if self.gpu else []
        flat = (path for each in nvidia for path in (sorted(each.iterdir()) if each.is_dir() else [each]))
        return tuple(path for path in (*plain, *flat) if path.exists())


def compile_policy(
    scratch: Path, *, readable: Iterable[Path] = (), compilers: Iterable[str | Path] = ("nvcc", "g++")
) -> Policy:
    """For nvcc, the host compiler and all that they call: many processes, writing to `scratch` only.

    `compilers` are paths or names on PATH; the toolkit around each becomes readable. `readable` adds the sources
    and headers.
    """
    programs = [found for each in compilers if (found := shutil.which(str(each)))]
    roots = [root for program in programs for root in toolkit_of(Path(program))]
    folders = dict.fromkeys([*(str(Path(program).parent) for program in programs), "/usr/bin", "/bin"])
    return Policy(
        readable=(*_existing(*_SYSTEM_PROGRAMS, *_SYSTEM_LIBRARIES, *_STORES), *roots, *readable),
        writable=(scratch,),
        environment={**_environment(scratch), "PATH": os.pathsep.join(folders)},
        memory_bytes=8 * _GIGABYTE,
        cpu_seconds=120.0,
        wall_seconds=120.0,
        processes=256,
        file_bytes=_GIGABYTE,
        disk_bytes=2 * _GIGABYTE,
        open_files=1024,
        programs=True,
    )


def run_policy(
    scratch: Path,
    *,
    readable: Iterable[Path] = (),
    environment: Mapping[str, str] | None = None,
    gpu: bool = False,
) -> Policy:
    """For the runner and the candidate in it: one process, a few threads, no other program, no new socket.

    `readable` names the runner, the build and the runtime library; the system's libraries are there already.
    """
    driver = ("/proc/driver/nvidia", "/sys/devices", "/sys/bus/pci", "/sys/module/nvidia") if gpu else ()
    return Policy(
        readable=(*_existing(*_SYSTEM_LIBRARIES, *_STORES, *driver), *readable),
        writable=(scratch,),
        environment={**_environment(scratch), **(environment or {})},
        processes=64,
        gpu=gpu,
    )


def _environment(scratch: Path) -> dict[str, str]:
    return {"HOME": str(scratch), "TMPDIR": str(scratch), "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}


def _existing(*names: str) -> tuple[Path, ...]:
    return tuple(path for path in map(Path, names) if path.exists())


def toolkit_of(program: Path) -> list[Path]:
    """What a compiler needs beside itself: the directory above its bin/, and that of what a script starts.

    An installation outside /usr is one directory with bin/, lib/ and so on. A wrapper script in
    /usr/local/bin names the real program in its text.
    """
    found = [program, program.resolve()]
    try:
        with program.open("rb") as file:
            head = file.read(4096)
    except OSError:
        head = b""
    if head.startswith(b"#!"):
        words = head.decode("utf-8", "replace").replace('"', " ").replace("'", " ").split()
        found += [Path(word).resolve() for word in words if word.startswith("/") and os.access(word, os.X_OK)]
    roots = (path.parent.parent for path in found if path.is_file() and path.parent.name == "bin")
    return [root for root in dict.fromkeys(roots) if root not in (Path("/"), Path("/usr"))]
