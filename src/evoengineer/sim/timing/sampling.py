"""Which blocks of a grid are counted.

All of a small grid. Of a large one: the first and the last, a block somewhere inside with its neighbours along
every axis and others further off, so that the cache model can tell how the footprint of a block moves with its index,
and others spread out, as blocks may differ by the bits of their index. The choice depends on the grid alone, or on
the grid and a seed: kernels that are out to look fast must not know which of their blocks are counted.
"""

from __future__ import annotations

import random

_CORNER = 0.382  # where, along each axis, a corner of neighbours is taken: nothing round, as grids often are
_SEEDED_CORNERS = 2


def choose_blocks(grid: tuple[int, int, int], limit: int, seed: int = 0) -> tuple[int, ...]:
    """Linear indices of the blocks to count, ascending, at most `limit` (at least one). Seed 0: no chance."""
    total = grid[0] * grid[1] * grid[2]
    limit = max(limit, 1)
    if total <= limit:
        return tuple(range(total))
    wanted: dict[int, None] = {}

    def add(x: int, y: int, z: int) -> None:
        if 0 <= x < grid[0] and 0 <= y < grid[1] and 0 <= z < grid[2]:
            wanted.setdefault(x + grid[0] * (y + grid[1] * z))

    chance = random.Random(f"{seed} {grid}")
    corners = [tuple(int(extent * _CORNER) for extent in grid)]
    if seed:
        corners = [tuple(chance.randrange(extent) for extent in grid) for _ in range(_SEEDED_CORNERS)]
    add(0, 0, 0)
    add(*(extent - 1 for extent in grid))
    for x, y, z in corners:
        x, y, z = max(x - 1, 0), max(y - 1, 0), max(z - 1, 0)
        add(x, y, z)
        add(x + 1, y, z)
        add(x, y + 1, z)
        add(x, y, z + 1)
        if seed:  # neighbours may share what blocks further off do not
            add(chance.randrange(grid[0]), y, z)
            add(x, chance.randrange(grid[1]), z)
            add(x, y, chance.randrange(grid[2]))
    step = 0
    while len(wanted) < limit and step < 4 * limit:  # the rest spread out by a low-discrepancy sequence
        step += 1
        wanted.setdefault(chance.randrange(total) if seed else int(step * 0.6180339887498949 % 1.0 * total))
    chosen = list(wanted)[:limit]
    if limit > 1 and total - 1 not in chosen:
        chosen[-1] = total - 1
    return tuple(sorted(chosen))


def weigh_blocks(
    grid: tuple[int, int, int], samples: tuple[int, ...], unlike: frozenset[int] = frozenset()
) -> tuple[float, ...]:
    """How many blocks each sample stands for, over the mean.

    Blocks at the upper end of an axis often have less to do, and are sampled more often than their number
    deserves: samples stand for the blocks that are at the same ends as they are. Those that are `unlike` the
    others stand for themselves.
    """

    def ends(index: int) -> tuple[bool, ...]:
        place = (index % grid[0], index // grid[0] % grid[1], index // grid[0] // grid[1])
        return tuple(extent > 1 and at == extent - 1 for at, extent in zip(place, grid, strict=True))

    kinds = {index: ends(index) for index in samples if index not in unlike}
    shares: dict[tuple[bool, ...], float] = {}  # blocks for each sample of a kind
    for kind in set(kinds.values()):
        count = 1
        for at_end, extent in zip(kind, grid, strict=True):
            count *= 1 if at_end else max(extent - 1, 1)
        count -= sum(ends(index) == kind for index in unlike)
        shares[kind] = max(count, 1) / list(kinds.values()).count(kind)
    stood_for = [shares[kinds[index]] if index in kinds else 1.0 for index in samples]
    return tuple(len(samples) * blocks / sum(stood_for) for blocks in stood_for)
