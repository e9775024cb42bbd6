"""Products instead of quotients."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from evoengineer.propose.rewriter.change import Change, Task, shuffled


@dataclass(frozen=True, slots=True)
class Reciprocal:
    """A quotient by a scalar becomes a product with its reciprocal, which the compiler takes out of the loop."""

    name: str = "reciprocal"
    thought: str = "A division costs many instructions; the reciprocal of a loop's constant is computed once."
    treats: tuple[str, ...] = ("issue_bound", "compute_bound")
    weight: float = 0.5
    fresh: bool = False

    _QUOTIENT = re.compile(r"\s/\s([A-Za-z_]\w*)\s*;")

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        return shuffled(list(self._all(source)), random)

    def _all(self, source: str) -> Iterator[Change]:
        for match in self._QUOTIENT.finditer(source):
            if not re.search(rf"\b(?:float|scalar_t|auto)\s+(?:\w+[^;]*,\s*)?{match[1]}\b", source):
                continue  # an integer quotient is no product
            changed = source[: match.start()] + f" * (1.0f / {match[1]});" + source[match.end() :]
            yield Change(f"times 1/{match[1]}", changed)
