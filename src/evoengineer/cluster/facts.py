"""What a node is, and whether it may judge: the same versions as the driver, isolation for candidates, one card type.

A verdict follows from text, problem, card, seed and versions (docs/judging.md), so that a node with another compiler
or another version of this package is refused, naming both.
"""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata

from evoengineer.errors import EvoEngineerError
from evoengineer.version import __version__

_TIMEOUT_SECONDS = 60
_PACKAGES = ("torch", "numpy", "llvmlite")


@dataclass(frozen=True, slots=True)
class Card:
    """A real GPU of a node."""

    name: str  # as NVIDIA calls it
    sm: int  # compute capability, 89 for 8.9


@dataclass(frozen=True, slots=True)
class Facts:
    """What a machine says of itself."""

    versions: Mapping[str, str]  # which must be the same everywhere
    exposed: str = ""  # what candidates could reach there; empty when they are isolated
    cards: tuple[Card, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A machine of the cluster, as Ray knows it, with what it says of itself."""

    id: str
    name: str  # address and host, for people
    cpus: float
    gpus: float = 0.0
    card: str = ""  # type of its GPUs, by Ray's label or NVIDIA's name
    facts: Facts | None = None
    silence: str = ""  # why it told nothing
    free: float = 0.0  # GPUs that nobody holds; of a node without any, cores


def facts_here() -> Facts:
    """Of the machine that this runs on."""
    from evoengineer.judge.sandbox.isolation import missing_isolation

    try:
        exposed = " and ".join(missing_isolation())
    except EvoEngineerError as error:
        exposed = f"machine ({error})"
    return Facts(versions_here(), exposed, _cards())


@cache
def versions_here() -> Mapping[str, str]:
    """Of everything that a verdict depends on."""
    from evoengineer.judge.verdict_cache import our_version

    return {
        "evoengineer": __version__,
        **_compilers(),
        "Python": platform.python_version(),
        **{package: _version(package) for package in _PACKAGES},
        "evoengineer's sources": our_version()[:12],
    }


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    """What is not the same, with both versions; sources only when nothing else tells more."""
    found = [
        f"{name} {there.get(name, 'none')} there, {value} here"
        for name, value in here.items()
        if there.get(name) != value
    ]
    return found[:-1] if len(found) > 1 and "sources" in found[-1] else found


def refusals(node: Node, here: Mapping[str, str], *, gpu: bool, card: str, unsafe: bool) -> list[str]:
    """Why the node may not judge; empty when it may. `card`: the type that the experiment uses, if it uses GPUs."""
    if node.facts is None:
        return [node.silence or "it does not answer"]
    found = differences(here, node.facts.versions)
    if node.facts.exposed and not unsafe:
        found.append(
            f"candidates are not isolated from the {node.facts.exposed} there (--unsafe judges all the same)"
        )
    if gpu and node.gpus < 1:
        found.append("it has no GPU")
    elif gpu and card and node.card != card:
        found.append(f"its card is {node.card or 'unknown'}, this experiment's is {card}")
    return found


def _compilers() -> dict[str, str]:
    """By what they say of themselves; a missing one differs from any that is there."""
    from evoengineer.toolchain.compilers import find_toolchain

    try:
        tools = find_toolchain()
    except EvoEngineerError:
        return {"nvcc": "none", "host compiler": "none"}
    said = _output([str(tools.nvcc), "--version"])
    exact = re.search(r"\bV(\d[\d.]*)", said)
    nvcc = exact[1] if exact else ".".join(map(str, tools.version))
    banner = _output([*tools.host.command, "--version"]).splitlines()
    return {"nvcc": nvcc, "host compiler": banner[0] if banner else "unknown"}


def _cards() -> tuple[Card, ...]:
    lines = _output(["nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader"]).splitlines()
    found = (re.fullmatch(r"(.+), (\d+)\.(\d+)", line.strip()) for line in lines)
    return tuple(Card(each[1], 10 * int(each[2]) + int(each[3])) for each in found if each)


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"
