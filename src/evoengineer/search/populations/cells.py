"""Cells: quality and diversity. One elite per design; a design is what the profile says, not what a reply claims.

A cell is bottleneck × memory strategy × work per thread, computed from the longest launch. A parent is the best of
all, or comes from a cell that is improving; a second parent has another bottleneck where there is one.
"""

from __future__ import annotations

from random import Random

from evoengineer.search.populations.elites import combinable
from evoengineer.search.populations.protocol import Choice
from evoengineer.search.records import Member

Cell = tuple[str, str, str]
UNKNOWN = "unknown"
_BEST_SHARE = 0.8  # of the first parents
_FAR = 4.0  # times the fastest's time: a kernel that slow has nothing to give to a combination
_RECENT = 0.8  # how fast an improvement is forgotten, per valid kernel
_MANY_REGISTERS = 64
_SOME_BYTES, _MANY_BYTES = 16.0, 64.0  # that a thread asks of memory


def cell_of(member: Member) -> Cell:
    """The design of a kernel."""
    launch = member.longest
    if launch is None:
        return UNKNOWN, UNKNOWN, UNKNOWN
    bottleneck = str(launch.limits[0]) if launch.limits else UNKNOWN
    if launch.shared_bytes_per_block:
        memory = "shared"
    else:
        memory = "registers" if launch.registers > _MANY_REGISTERS else "direct"
    threads = 1
    for extent in (*launch.grid, *launch.block):
        threads *= max(extent, 1)
    per_thread = (launch.l1_bytes + launch.shared_bytes) / threads
    work = "little" if per_thread <= _SOME_BYTES else "some" if per_thread <= _MANY_BYTES else "much"
    return bottleneck, memory, work


class Cells:
    """The fastest kernel of each cell."""

    def __init__(self) -> None:
        self.elites: dict[Cell, Member] = {}
        self._momentum: dict[Cell, float] = {}  # recent gains

    def seed(self, member: Member) -> None:
        self.add(member, 0)

    def add(self, member: Member, island: int) -> None:
        cell = cell_of(member)
        for each in self._momentum:
            self._momentum[each] *= _RECENT
        held = self.elites.get(cell)
        if held is None or member.beats(held):
            gain = (
                0.5 if held is None else held.time_us / member.time_us - 1.0
            )  # a new design is worth a look
            self.elites[cell] = member
            self._momentum[cell] = self._momentum.get(cell, 0.0) + gain

    def choose(self, count: int, random: Random) -> Choice:
        ranked = sorted(self.elites.values(), key=lambda member: (member.time_us, member.number))
        pool = combinable(ranked)
        if not pool or count < 1:
            return Choice(())
        chosen = [pool[0] if random.random() < _BEST_SHARE else self._improving(pool, random)]
        while len(chosen) < count:
            near = [member for member in pool if member.time_us <= _FAR * pool[0].time_us]
            rest = [member for member in near if member not in chosen]
            if not rest:
                break
            limits = {cell_of(member)[0] for member in chosen}
            others = [member for member in rest if cell_of(member)[0] not in limits] or rest
            chosen.append(self._improving(others, random))
        return Choice(tuple(sorted(chosen, key=lambda member: (member.time_us, member.number))))

    def _improving(self, pool: list[Member], random: Random) -> Member:
        """By momentum and by speed: a cell far behind needs more than a new face."""
        best = min(member.time_us for member in pool)
        weights = [
            (0.1 + self._momentum.get(cell_of(member), 0.0)) * (best / member.time_us) ** 2 for member in pool
        ]
        return random.choices(pool, weights)[0]
