"""Another block size, where a name or a launch tells which number it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from evoengineer.propose.rewriter.change import Change, Task, shuffled
from evoengineer.propose.syntax.covering import fixed
from evoengineer.propose.syntax.tree import NotUnderstood

_BLOCK_NAMES = r"(?:[A-Za-z_]*(?:THREADS|BLOCK|Threads|Block|threads|block)[A-Za-z_]*)"
_SIZES = (32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True, slots=True)
class BlockSize:
    """Constants that are named like a block size, and literal sizes in launches."""

    name: str = "block size"
    thought: str = "Another block size changes occupancy, the work per thread and the cost of a barrier."
    treats: tuple[str, ...] = ("latency_bound", "barriers", "small_grid")
    weight: float = 1.0
    fresh: bool = False

    _DEFINITION = re.compile(
        rf"(#define\s+{_BLOCK_NAMES}\s+|\b(?:constexpr|const|static)[\w\s]*\s{_BLOCK_NAMES}\s*=\s*)(\d+)\b"
    )
    _VARIABLE = re.compile(rf"(\b(?:int|auto|unsigned|dim3)\s+{_BLOCK_NAMES}\s*[=({{]\s*)(\d+)(?=\s*[;)}}])")
    _LAUNCH = re.compile(r"(<<<[^;{}]*?,\s*)(\d+)(?=\s*(?:,[^;{}]*?)?>>>)")

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        return shuffled(list(self._all(source)), random)

    def _all(self, source: str) -> Iterator[Change]:
        try:
            kept = fixed(source)
        except NotUnderstood:
            return
        for pattern in (self._DEFINITION, self._VARIABLE, self._LAUNCH):
            for match in pattern.finditer(source):
                present = int(match[2])
                if present not in _SIZES or _is_written_again(source, match, present) or match[2] in kept:
                    continue
                for size in _SIZES:
                    if size != present:
                        changed = source[: match.start(2)] + str(size) + source[match.end(2) :]
                        yield Change(f"block of {size}", changed)


def _is_written_again(source: str, match: re.Match[str], present: int) -> bool:
    """Whether the number, or one less, stands at another place, such as the grid's `(n + 255) / 256`: a block of
    another size would then leave something out."""
    rest = source[: match.start(2)] + source[match.end(2) :]
    return re.search(rf"\b(?:{present}|{present - 1})\b", rest) is not None
