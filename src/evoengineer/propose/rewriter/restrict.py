"""Pointers of kernels that do not overlap."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from evoengineer.propose.rewriter.change import Change, Task, shuffled


@dataclass(frozen=True, slots=True)
class Restrict:
    """`__restrict__` on the pointers of kernels."""

    name: str = "restrict"
    thought: str = "Pointers that do not overlap let the compiler reorder loads and use the read-only path."
    treats: tuple[str, ...] = ("latency_bound", "l1_bound")
    weight: float = 0.5
    fresh: bool = False

    _HEAD = re.compile(r"__global__[^;{]*\{", re.DOTALL)
    _POINTER = re.compile(r"\*\s*(?!__restrict__)(?=\w)")

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        return shuffled(list(self._all(source)), random)

    def _all(self, source: str) -> Iterator[Change]:
        changed = self._HEAD.sub(lambda head: self._POINTER.sub("* __restrict__ ", head[0]), source)
        yield Change("restricted pointers", changed)
