"""Which blocks of a launch run when, and in which of them races are looked for.

A card starts blocks roughly in the order of their indices, and those that fit run side by side. Whoever relies on
that order without waiting is found by another one, which nobody can know beforehand; races that no order shows, like
two blocks that add to the same place without an atomic operation, are looked for in a few blocks that are likely to
meet.
"""

from __future__ import annotations

import random
from collections.abc import Collection

_WINDOW = 64  # blocks that are near one another: they share data, so that it is quick to run them in turn
# Of blocks that wait for one another few come late. Each keeps those after it waiting, which makes honest kernels that
# look back at blocks before do more than on a card.
_LATE_SHARE, _LEAST_LATE = 256, 8
_PARTS = (2, 3, 4, 8)  # of a grid: where the other block is likely to be that works on the same results


def drawn(blocks: int, seed: str) -> list[int]:
    """All of them by chance: windows of neighbours, and the blocks in each."""
    chance = random.Random(f"order {seed}")
    windows = list(range(0, blocks, _WINDOW))
    places = list(range(min(_WINDOW, blocks)))
    chance.shuffle(windows)
    chance.shuffle(places)
    return [first + place for first in windows for place in places if first + place < blocks]


def delayed(blocks: int, resident: int, seed: str) -> list[int]:
    """All of them in the order of their indices, but some come later, after blocks that a card could have on it
    at the same time; and never the last one last, which may think that all others are done."""
    chance = random.Random(f"delays {seed}")
    order = list(range(blocks))
    furthest = min(_WINDOW, resident, blocks) - 1
    count = min(max(blocks // _LATE_SHARE, _LEAST_LATE), blocks // 2) if furthest > 0 else 0
    for at in sorted(chance.sample(range(blocks), count), reverse=True):
        order.insert(at + chance.randint(1, furthest), order.pop(at))
    if count and order[-1] == blocks - 1:
        order.insert(-chance.randint(1, furthest), order.pop())
    return order


def spots(
    grid: tuple[int, int, int], limit: int, seed: int, without: Collection[int] = ()
) -> tuple[int, ...]:
    """At most `limit` blocks: some, each with its neighbours along every axis and those a part of the grid away."""
    total = grid[0] * grid[1] * grid[2]
    taken = frozenset(without)
    if total - len(taken) <= limit:
        return tuple(at for at in range(total) if at not in taken)
    chance = random.Random(f"spots {seed} {grid}")
    found: dict[int, None] = {}
    while len(found) < limit:
        at = chance.randrange(total)
        near = [step for step in (grid[0] * grid[1], 1, grid[0]) if step < total]
        steps = [*near, *(-step for step in near), *(total // part for part in _PARTS)]
        found.update({(at + step) % total: None for step in (0, *steps) if (at + step) % total not in taken})
    return tuple(found)[:limit]
