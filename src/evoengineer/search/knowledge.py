"""I4: domain knowledge, chosen by what limits the kernel at hand.

Owns the knowledge base (`knowledge.toml`) and the reading of a verdict's profile. A verdict without a profile
has no bottleneck; any technique may then be drawn.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from evoengineer.judge.verdict import Verdict

# Words of a profile, in lower case, and the bottleneck that they speak of. The first that matches a launch's
# "bound" counts; findings may name more.
_WORDS = (
    ("bank conflict", "shared"),
    ("shared", "shared"),
    ("sector", "sectors"),
    ("stride", "sectors"),
    ("coalesc", "sectors"),
    ("atomic", "atomics"),
    ("diverge", "divergence"),
    ("active lanes", "divergence"),
    ("barrier", "barrier"),
    ("occupancy", "occupancy"),
    ("registers", "occupancy"),
    ("launch", "launch"),
    ("overhead", "launch"),
    ("tail", "tail"),
    ("wave", "tail"),
    ("latency", "latency"),
    ("dram", "dram"),
    ("l2", "l2"),
    ("l1", "l1"),
    ("sfu", "sfu"),
    ("special", "sfu"),
    ("issue", "issue"),
    ("tensor", "compute"),
    ("fp32", "compute"),
    ("fp64", "compute"),
    ("fp16", "compute"),
    ("compute", "compute"),
    ("pipe", "compute"),
    ("memory", "dram"),
)
BOTTLENECKS = tuple(dict.fromkeys(name for _, name in _WORDS))


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
    """What limits a valid kernel, the most important first: the longest launch's bound, then the findings."""
    timing = verdict.timing
    if timing is None:
        return ()
    found: list[str] = []
    launches = sorted(timing.launches, key=lambda each: -float(each.get("time_us") or 0.0))
    for launch in launches[:1]:
        found += _named(str(launch.get("bound", "")))[:1]
        findings = launch.get("findings", ())
        for finding in findings if isinstance(findings, Sequence) and not isinstance(findings, str) else ():
            found += _named(str(finding))[:1]
    found += _named(timing.profile)
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
    lowered = text.lower()
    return [name for word, name in _WORDS if word in lowered]
