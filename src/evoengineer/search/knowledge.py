"""I4: domain knowledge, chosen by what limits the kernel at hand.

Owns the knowledge base (`knowledge.toml`). What limits a kernel is the profile's to say, as kinds of findings; a
verdict without a profile names none, and any technique may then be drawn.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from evoengineer.judge.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Technique:
    name: str
    treats: tuple[str, ...]  # kinds of findings (FindingKind)
    text: str


@cache
def techniques() -> tuple[Technique, ...]:
    data = tomllib.loads((Path(__file__).parent / "knowledge.toml").read_text())
    return tuple(
        Technique(each["name"], tuple(each["treats"]), " ".join(each["text"].split()))
        for each in data["technique"]
    )


def bottlenecks(verdict: Verdict) -> tuple[str, ...]:
    """What limits the longest launch of a valid kernel, the most important first."""
    launches = verdict.timing.launches if verdict.timing else ()
    longest = max(launches, key=lambda launch: launch.time_ns, default=None)
    return longest.limits if longest else ()


def choose(limits: Sequence[str], count: int, random: Random) -> tuple[Technique, ...]:
    """Distinct techniques for what limits a kernel; those that treat the first limits weigh most."""
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
