"""Elites: the fastest few survive; parents are drawn by rank, without replacement.

Where several parents are asked for, the baseline is none of them once a faster kernel exists: there is nothing in it
that the prompt does not show anyway.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from random import Random

from evoengineer.search.populations.protocol import Choice
from evoengineer.search.records import BASELINE_NUMBER, Member


def _rank(member: Member) -> tuple[float, int]:
    return member.time_us, member.number  # of two equals the earlier


class Elites:
    """The `size` fastest."""

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"a population needs room for at least one kernel, not {size}")
        self.size = size
        self.members: list[Member] = []  # fastest first

    def seed(self, member: Member) -> None:
        self.add(member, 0)

    def add(self, member: Member, island: int) -> None:
        insort(self.members, member, key=_rank)
        del self.members[self.size :]

    def choose(self, count: int, random: Random) -> Choice:
        """Rank r of n is drawn with weight 1 / (r + n), as in Evolution of Heuristics."""
        pool = combinable(self.members) if count > 1 else list(self.members)
        chosen: list[Member] = []
        while pool and len(chosen) < count:
            weights = [1.0 / (rank + 1 + len(pool)) for rank in range(len(pool))]
            chosen.append(pool.pop(random.choices(range(len(pool)), weights)[0]))
        return Choice(tuple(sorted(chosen, key=_rank)))


def combinable(members: Sequence[Member]) -> list[Member]:
    """Members that are worth combining: all, without the baseline if one of them is faster."""
    fastest = min(members, key=_rank, default=None)
    if fastest is None or fastest.number == BASELINE_NUMBER:
        return list(members)
    return [member for member in members if member.number != BASELINE_NUMBER]
