"""What the search asks of a population."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Protocol

from evoengineer.search.records import Member


@dataclass(frozen=True, slots=True)
class Choice:
    """Distinct parents, the best first, and the island they come from (0 where there are none)."""

    parents: tuple[Member, ...]
    island: int = 0


class Population(Protocol):
    """Updated in the order of the run; `choose` depends on the members and the generator only and changes
    nothing, so that a resumed run chooses as an uninterrupted one does. Work per call must not grow with
    the number of trials."""

    def seed(self, member: Member) -> None:
        """The baseline, before anything else."""
        ...

    def add(self, member: Member, island: int) -> None:
        """A valid kernel whose parents came from that island."""
        ...

    def choose(self, count: int, random: Random) -> Choice:
        """Up to `count` distinct parents."""
        ...
