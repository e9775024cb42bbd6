"""Which blocks of a launch run when, and in which of them races are looked for.

A card starts blocks roughly in the order of their indices, and those that fit run side by side. Whoever relies on
that order without waiting is found by another one (`turned`); races that no order shows, like two blocks that add to
the same place without an atomic operation, are looked for in a few blocks that are likely to meet.
"""

from __future__ import annotations

import random

# Blocks that wait for one another and come in another order keep each other waiting: few enough to sort that out fast.
_WINDOW = 64
_PARTS = (2, 3, 4, 8)  # of a grid: where the other block is likely to be that works on the same results


def turned(blocks: int, resident: int) -> list[int]:
    """All of them, reversed among neighbours that a card has on it at the same time."""
    window = max(min(_WINDOW, resident), 1)
    order: list[int] = []
    for first in range(0, blocks, window):
        order.extend(range(min(first + window, blocks) - 1, first - 1, -1))
    return order


def spots(grid: tuple[int, int, int], limit: int, seed: int) -> frozenset[int]:
    """At most `limit` blocks: some, each with its neighbours along every axis and those a part of the grid away."""
    total = grid[0] * grid[1] * grid[2]
    if total <= limit:
        return frozenset(range(total))
    chance = random.Random(f"spots {seed} {grid}")
    found: dict[int, None] = {}
    while len(found) < limit:
        at = chance.randrange(total)
        near = [step for step in (grid[0] * grid[1], 1, grid[0]) if step < total]
        steps = [*near, *(-step for step in near), *(total // part for part in _PARTS)]
        for step in (0, *steps):
            found.setdefault((at + step) % total)
    return frozenset(list(found)[:limit])
