"""Verdicts of what was judged before: the same text, or another text with the same machine code.

A verdict is kept under everything that it depends on: the code judged, the problem with all it loads, the device,
the run seed, the compilers, PyTorch, and our own sources. Those that depend on how busy the machine was are not
kept.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

from evoengineer.card.name import DeviceName
from evoengineer.files import Cache, contents, digest
from evoengineer.judge.on_cuda import gpu_identity
from evoengineer.judge.verdict import Outcome, Verdict
from evoengineer.problem.files import files_of
from evoengineer.problem.model import Problem
from evoengineer.toolchain.compilers import find_toolchain
from evoengineer.toolchain.toolkit import toolchain_digest

_PASSING = (Outcome.TIMED_OUT,)
_SOURCES = Path(__file__).parents[1]
_PARTS = ("card", "judge", "kernel", "problem", "sim", "toolchain")
_PACKAGES = ("torch", "numpy", "llvmlite")  # what computes references, and runs simulated kernels


class VerdictCache:
    """For one problem on one device."""

    def __init__(self, problem: Problem, device: DeviceName, run_seed: int) -> None:
        self._cache = Cache(f"verdicts/{verdict_key(problem, device, run_seed)}")

    def find(self, identity: str) -> Verdict | None:
        """By the identity of a text or of machine code."""
        data = self._cache.get(identity)
        return None if data is None else Verdict.from_json(json.loads(data))

    def keep(self, identity: str, verdict: Verdict) -> None:
        if verdict.outcome not in _PASSING:
            self._cache.put(identity, json.dumps(verdict.to_json()).encode())


def verdict_key(problem: Problem, device: DeviceName, run_seed: int) -> str:
    """Everything but the kernel that a verdict depends on."""
    return digest(
        *(str(device), _card(device), str(run_seed), problem.name, *_contents_of(problem)),
        *("", toolchain_digest(find_toolchain()), *map(_version, _PACKAGES), platform.python_version()),
        our_version(),
    )


def _card(device: DeviceName) -> str:
    """The figures of a simulated card; a real one's model and driver."""
    return repr(device.profile) if device.simulated else gpu_identity(device)


def _contents_of(problem: Problem) -> Iterator[str | bytes]:
    """The baseline, the problem's file, and what lies beside it and is named in it."""
    yield problem.baseline.read_bytes() if problem.baseline else "none"
    for path in files_of(problem):
        yield from contents(path) if path.is_dir() else (path.name, path.read_bytes())


def _version(package: str) -> str:
    """Without importing it, which takes a second in the case of PyTorch."""
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return f"no {package}"


@cache
def our_version() -> str:
    """Of all sources that a verdict depends on."""
    return digest(*(each for part in _PARTS for each in contents(_SOURCES / part)))
