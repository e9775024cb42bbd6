"""Hardware approximations instead of exact functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from evoengineer.propose.rewriter.change import Change, Task, shuffled


@dataclass(frozen=True, slots=True)
class FastMath:
    """Intrinsics in place of exact functions."""

    name: str = "fast math"
    thought: str = (
        "Hardware approximations take fewer instructions; the judge decides whether they are exact enough."
    )
    treats: tuple[str, ...] = ("sfu_bound", "issue_bound", "compute_bound")
    weight: float = 0.5
    fresh: bool = False

    _CALLS = re.compile(r"(?<![\w.:])(expf|logf|sinf|cosf|powf|exp|log)(?=\s*\()")

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        return shuffled(list(self._all(source)), random)

    def _all(self, source: str) -> Iterator[Change]:
        def fast(match: re.Match[str]) -> str:
            return f"__{match[1].removesuffix('f')}f"

        yield Change("fast intrinsics", self._CALLS.sub(fast, source))
