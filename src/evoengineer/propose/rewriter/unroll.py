"""Unroll factors: of one loop, or of all that walk over data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from evoengineer.propose.rewriter.change import Change, Task, shuffled

_FOR = re.compile(r"^([ \t]*)(?:#pragma unroll[^\n]*\n[ \t]*)?(for\s*\()", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Unroll:
    """Unroll factors of loops."""

    name: str = "unroll"
    thought: str = "Unrolling lets several loads be under way at once and removes branches."
    treats: tuple[str, ...] = ("latency_bound", "issue_bound")
    weight: float = 0.5
    fresh: bool = False

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        return shuffled(list(self._all(source)), random)

    def _all(self, source: str) -> Iterator[Change]:
        for place, match in enumerate(_FOR.finditer(source), 1):
            for factor in (2, 4, 8):
                loop = f"{match[1]}#pragma unroll {factor}\n{match[1]}{match[2]}"
                changed = source[: match.start()] + loop + source[match.end() :]
                yield Change(f"loop {place} unrolled by {factor}", changed)


@dataclass(frozen=True, slots=True)
class UnrollAll:
    """The same factor for every loop whose step is not 1, which are the ones that walk over data."""

    name: str = "unroll all"
    thought: str = "Unrolling every loop over the data keeps more loads under way."
    treats: tuple[str, ...] = ("latency_bound", "dram_bound")
    weight: float = 1.0
    fresh: bool = False

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        return shuffled(list(self._all(source)), random)

    def _all(self, source: str) -> Iterator[Change]:
        for factor in (2, 4, 8):

            def unrolled(match: re.Match[str], factor: int = factor) -> str:
                header = source[match.end() : source.find("\n", match.end())]
                walks = "+=" in header.split(")")[0]
                return f"{match[1]}#pragma unroll {factor}\n{match[1]}{match[2]}" if walks else match[0]

            yield Change(f"data loops unrolled by {factor}", _FOR.sub(unrolled, source))
