"""I4: domain knowledge, chosen by what limits the kernel at hand.

Owns the knowledge base (`knowledge.toml`) and the reading of a verdict's profile. A verdict without a profile
has no bottleneck; any technique may then be drawn.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from evoengineer.judge.verdict import Verdict

# The terms of the simulated GPU's timing model, and the bottleneck that each stands for.
_BOUNDS = {
    "dram": "dram", "l2": "l2", "l1 fill": "l2", "lsu": "l1", "latency": "latency", "issue": "issue",
    "alu": "issue", "uniform": "issue", "fma": "compute", "half": "compute", "fp64": "compute",
    "tensor": "compute", "sfu": "sfu", "atomics": "atomics", "start": "launch",
}  # fmt: skip
# Words of findings, in lower case; the first that a text holds counts.
_WORDS = (
    ("bank conflict", "shared"),
    ("shared memory", "shared"),
    ("per sector", "sectors"),
    ("coalesc", "sectors"),
    ("atomic", "atomics"),
    ("lanes are active", "divergence"),
    ("diverge", "divergence"),
    ("barrier", "barrier"),
    ("latency", "latency"),
    ("spill", "occupancy"),
    ("occupancy", "occupancy"),
    ("grid has", "tail"),
    ("launch overhead", "launch"),
    ("dram", "dram"),
    ("l2", "l2"),
    ("l1", "l1"),
    ("load/store", "l1"),
    ("special function", "sfu"),
    ("issue", "issue"),
    ("integer", "issue"),
    ("arithmetic", "compute"),
    ("units", "compute"),
    ("tensor", "compute"),
    ("memory", "dram"),
)
BOTTLENECKS = tuple(dict.fromkeys((*_BOUNDS.values(), *(name for _, name in _WORDS))))


@dataclass(frozen=True, slots=True)
class Technique:
    name: str
    treats: tuple[str, ...]
    text: str


@cache
def techniques() -> tuple[Technique, ...]:
    data = tomllib.loads((Path(__file__).parent / "knowledge.toml").read_text())
    return tuple(
        Technique(each["name"], tuple(each["treats"]), " ".join(each["text"].split()))
        for each in data["technique"]
    )


def bottlenecks(verdict: Verdict) -> tuple[str, ...]:
    """What limits a valid kernel, the most important first: what its longest launch is bound by, then the
    findings; without launches, what the profile's text says of both."""
    timing = verdict.timing
    if timing is None:
        return ()
    found: list[str] = []
    longest = max(timing.launches, key=lambda each: float(each.get("time_ns") or 0.0), default=None)
    if longest is not None:
        bound = str(longest.get("bound", ""))
        found += [_BOUNDS[bound]] if bound in _BOUNDS else _named(bound)
        findings = longest.get("findings") or ()
        for finding in findings if isinstance(findings, Sequence) and not isinstance(findings, str) else ():
            found += _named(str(finding))
    if not found:
        for said in re.findall(r"bound by ([^,\n]+)|^\s*- (.+)$", timing.profile, re.MULTILINE):
            found += _named(" ".join(said))
    return tuple(dict.fromkeys(found))


def choose(limits: Sequence[str], count: int, random: Random) -> tuple[Technique, ...]:
    """Distinct techniques for these bottlenecks; those that treat the first ones weigh most."""
    pool = list(techniques())
    chosen: list[Technique] = []
    while pool and len(chosen) < count:
        weights = [_weight(technique, limits) for technique in pool]
        if not any(weights):
            weights = [1.0] * len(pool)
        chosen.append(pool.pop(random.choices(range(len(pool)), weights)[0]))
    return tuple(chosen)


def _weight(technique: Technique, limits: Sequence[str]) -> float:
    return sum(1.0 / (place + 1) for place, name in enumerate(limits) if name in technique.treats)


def _named(text: str) -> list[str]:
    """The bottleneck that a text speaks of; nothing when it names none."""
    lowered = text.lower()
    return [name for word, name in _WORDS if word in lowered][:1]
