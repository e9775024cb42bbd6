"""A cheap embedding of source texts for retrieval: hashed n-grams of tokens, no model and no download.

Names are folded to their letters in lower case, numbers to `0`, so that two kernels that differ in constants
or naming only lie close together. The index keeps a bounded number of the fastest kernels.
"""

from __future__ import annotations

import math
import re
import zlib
from operator import mul

from evoengineer.search.records import Member

DIMENSIONS = 256
KEPT = 64
_TOKEN = re.compile(r"[A-Za-z_]+|\d+|[^\sA-Za-z_0-9]")


def embed(source: str) -> list[float]:
    """A vector of length 1 (all zeros for a text without tokens)."""
    tokens = ["0" if token.isdigit() else token.lower() for token in _TOKEN.findall(source)]
    vector = [0.0] * DIMENSIONS
    for width in (1, 2, 3):
        for place in range(len(tokens) - width + 1):
            code = zlib.crc32(" ".join(tokens[place : place + width]).encode())
            vector[code % DIMENSIONS] += 1.0 if code >> 31 else -1.0
    length = math.sqrt(sum(map(mul, vector, vector)))
    return [value / length for value in vector] if length else vector


class SimilarKernels:
    """Valid kernels by likeness to a text."""

    def __init__(self) -> None:
        self._kept: list[tuple[Member, list[float]]] = []

    def add(self, member: Member) -> None:
        self._kept.append((member, embed(member.source)))
        if len(self._kept) > KEPT:
            self._kept.remove(max(self._kept, key=lambda entry: (entry[0].time_us, entry[0].number)))

    def nearest(self, source: str, count: int) -> tuple[Member, ...]:
        """Distinct kernels, the fastest first."""
        target = embed(source)
        scored = sorted(self._kept, key=lambda entry: (-sum(map(mul, target, entry[1])), entry[0].number))
        near = [member for member, _ in scored[:count]]
        return tuple(sorted(near, key=lambda member: (member.time_us, member.number)))
