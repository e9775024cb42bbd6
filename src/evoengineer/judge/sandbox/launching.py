"""The launcher's command line: a policy and a set of layers become arguments.

Owns the build of the launcher and the translation of paths; `process.py` runs it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from evoengineer.errors import SandboxError
from evoengineer.judge.sandbox.policy import Policy
from evoengineer.toolchain.native_build import build_executable

# In the order in which they depend on each other: a fresh /proc needs the private root, that the namespaces.
LAYER_NAMES = ("namespaces", "root", "proc", "landlock", "seccomp")

_SOURCES = Path(__file__).parent / "launcher"
# Nothing of the C++ library is used, so that the launcher starts as fast as a C program.
_FLAGS = ("-std=c++17", "-O2", "-Wall", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics")


def launcher() -> Path:
    """The launcher, built if need be."""
    return build_executable(
        sorted(_SOURCES.glob("*.cpp")), "evosandbox", _FLAGS, ("-Wl,--as-needed", "-Wl,-z,now")
    )


def launch_command(
    command: Sequence[str | Path],
    policy: Policy,
    active: frozenset[str],
    report_fd: int,
    pass_fds: Iterable[int] = (),
) -> list[str]:
    """The whole command line. The judge is this process."""
    return [
        str(launcher()),
        f"parent={os.getpid()}",
        f"report={report_fd}",
        *(f"layer={name}" for name in LAYER_NAMES if name in active),
        *_files(policy),
        *(f"keep={fd}" for fd in pass_fds),
        *(f"environment={name}={value}" for name, value in policy.environment.items()),
        f"directory={_directory(policy)}",
        f"memory_bytes={policy.memory_bytes}",
        f"file_bytes={policy.file_bytes}",
        f"disk_bytes={policy.disk_bytes}",
        f"wall_ms={int(policy.wall_seconds * 1000)}",
        f"cpu_ms={int(policy.cpu_seconds * 1000)}",
        f"tasks={policy.processes}",
        f"open_files={policy.open_files}",
        f"network={int(policy.network)}",
        f"programs={int(policy.programs)}",
        f"gpu={int(policy.gpu)}",
        "--",
        *(str(word) for word in command),
    ]


def _directory(policy: Policy) -> str:
    first = policy.writable[0] if policy.writable else Path("/")
    return os.path.realpath(policy.directory or first)


def _files(policy: Policy) -> Iterator[str]:
    """Real paths to bind, and symbolic links for those that were named by another one."""
    readable, links = _resolve(policy.readable)
    writable, more_links = _resolve(policy.writable)
    for path in _outermost(readable):
        yield f"readable={path}"
    for path in _outermost(writable):
        yield f"writable={path}"
    for device in policy.devices():
        yield f"device={device}"
    for link, target in {**links, **more_links}.items():
        yield f"link={link}"
        yield f"target={target}"


def _resolve(paths: Iterable[Path]) -> tuple[list[str], dict[str, str]]:
    real: dict[str, None] = {}
    links: dict[str, str] = {}
    for path in paths:
        given = os.path.abspath(path)
        resolved = os.path.realpath(given)
        if not os.path.exists(resolved):
            raise SandboxError(f"the sandbox's policy names {given}, which does not exist")
        real[resolved] = None
        if given != resolved:
            links[given] = resolved
    return list(real), links


def _outermost(paths: list[str]) -> list[str]:
    """Without those that lie below another; parents first."""
    kept: list[str] = []
    for path in sorted(paths):
        if not any(path == other or path.startswith(other.rstrip("/") + "/") for other in kept):
            kept.append(path)
    return kept
