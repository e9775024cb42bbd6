"""What L2 holds from launch to launch, by address: a launch on other memory than the one before finds none of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

from evoengineer.sim.timing.memory import kept_fraction


@dataclass(frozen=True, slots=True)
class Stretch:
    """Of an allocation: from the lowest to the highest byte touched, and how many bytes in between were."""

    low: int  # from the allocation's start
    high: int
    bytes: float
    dirty: float = 0.0  # part of them that is yet to be written to DRAM
    spread: float = (
        1.0  # bytes of L2 that each takes up: a line has room for all of its sectors, touched or not
    )
    pattern: Hashable = None  # two of one pattern are the same bytes; of None nothing is known

    @property
    def density(self) -> float:
        return min(self.bytes / max(self.high - self.low, 1), 1.0)

    @property
    def taken(self) -> float:
        return self.bytes * self.spread

    def finds(self, held: Stretch) -> float:
        """Of what it touches of a place, the part that must be there after another one."""
        if self.pattern is not None and self.pattern == held.pattern:
            return 1.0
        return _common(held.density, self.density)

    def overlap(self, other: Stretch) -> int:
        return max(min(self.high, other.high) - max(self.low, other.low), 0)


class Residency:
    """Stretches that L2 holds, least recently used first."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._held: OrderedDict[tuple[int, int], Stretch] = OrderedDict()  # by allocation and lowest byte

    def fractions(self, touched: Mapping[int, Stretch]) -> dict[int, tuple[float, float]]:
        """Of what a launch will touch: the part that is there, and stays until it is wanted; and the part that is
        there and dirty."""
        kept = kept_fraction(sum(each.taken for each in touched.values()), self._capacity)
        found = {}
        for start, wanted in touched.items():
            there = soiled = 0.0
            for (owner, _), held in self._held.items():
                if owner == start:
                    part = held.overlap(wanted) * wanted.finds(held)
                    there += part
                    soiled += part * held.dirty
            length = max(wanted.high - wanted.low, 1)
            found[start] = kept * min(there / length, 1.0), kept * min(soiled / length, 1.0)
        return found

    def touch(self, touched: Mapping[int, Stretch]) -> None:
        before = self.fractions(touched)
        for start, new in touched.items():
            dirty = 1 - (1 - new.dirty) * (1 - before[start][1])
            for key, held in list(self._held.items()):
                if key[0] == start and held.overlap(new):
                    self._cut(key, held, new)
            size = min(new.bytes, self._capacity / new.spread)
            self._held[start, new.low] = replace(new, bytes=size, dirty=dirty)
        while len(self._held) > 1 and sum(each.taken for each in self._held.values()) > self._capacity:
            self._held.popitem(last=False)

    def _cut(self, key: tuple[int, int], held: Stretch, new: Stretch) -> None:
        """What the new stretch covers counts there; what it leaves keeps its place in the order of use."""
        del self._held[key]
        for low, high in ((held.low, new.low), (new.high, held.high)):
            if low < high:
                size = held.density * (high - low)
                self._held[key[0], low] = replace(held, low=low, high=high, bytes=size)
                self._held.move_to_end((key[0], low), last=False)


def _common(held: float, wanted: float) -> float:
    """Of the bytes that a launch wants of a place, the part that must be there if another one has touched so much of
    it: which bytes these were nobody knows, and two that touch half of the sectors may have none in common."""
    return max(held + wanted - 1, 0.0) / wanted if wanted else 0.0
