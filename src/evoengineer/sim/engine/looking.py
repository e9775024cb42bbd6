"""Where in a large launch races are looked for, and how much that may take: it is far slower than just to run.

Some blocks run apart from the others, in code that looks for races; or all of them do, where they wait for one another
or are few. What blocks that wait for one another do in a launch that is too large for that is tried beforehand.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evoengineer.sim.codegen import abi
from evoengineer.sim.engine.order import spots
from evoengineer.sim.options import DeviceOptions

if TYPE_CHECKING:
    from evoengineer.sim.codegen.image import KernelImage
    from evoengineer.sim.timing.totals import Totals

Grid = tuple[int, int, int]
WAITING = abi.SPINS | abi.SHARES | abi.COOPERATIVE  # blocks that have to do with one another while they run
NAMED_BLOCKS = 1 << 22  # of a launch, at most, that are put in an order one by one: a grid may have billions
# Instructions of a launch, at most, that run looking for races in some of its blocks (one block may take more); or in
# all of them, where blocks wait for one another and cannot run by themselves.
_SPOT_WORK, _SPOT_BLOCK_WORK, _WHOLE_WORK = 1_000_000, 4_000_000, 6_000_000
REHEARSAL_WORK, _REHEARSED_BLOCKS = 1_000_000, 1024


class Looking:
    """Remembers how much launches took, by kernel and grid."""

    def __init__(self) -> None:
        self._most_work: dict[tuple[str, Grid], int] = {}

    def note(self, image: KernelImage, grid: Grid, instructions: int) -> None:
        """A launch has run that many."""
        before = self._most_work.get((image.key, grid), 0)
        self._most_work[image.key, grid] = max(before, instructions)

    def in_all(self, options: DeviceOptions, image: KernelImage, grid: Grid, cooperative: bool) -> bool:
        """Whether races are looked for in all blocks at once: they wait for one another, or are few. Only where an
        earlier launch has shown that this does not take too long."""
        together = _count(grid) <= options.spot_blocks or _waits(image, cooperative)
        known = self._most_work.get((image.key, grid))
        return together and known is not None and known <= _WHOLE_WORK

    def beforehand(
        self, options: DeviceOptions, image: KernelImage, grid: Grid, cooperative: bool
    ) -> Iterator[Sequence[int]]:
        """Blocks that wait for one another, or seem to, and are tried beforehand: the first ones, which have nobody to
        wait for, and some anywhere."""
        if not _waits(image, cooperative) or self.in_all(options, image, grid, cooperative):
            return
        blocks = _count(grid)
        count = blocks if cooperative else min(blocks, _REHEARSED_BLOCKS)
        somewhere = random.Random(f"rehearsal {options.order_seed} {blocks}").randint(0, blocks - count)
        for first in sorted({0, somewhere}):
            yield range(first, first + count)


def apart(
    options: DeviceOptions, image: KernelImage, grid: Grid, samples: tuple[int, ...], cooperative: bool
) -> tuple[int, ...]:
    """Blocks that run apart from the others, so that races may be looked for in them. None of those that are
    counted: code that looks for races does not count."""
    blocks = _count(grid)
    if _waits(image, cooperative):
        return ()
    # At least one is left to the others, which show how much a block takes.
    limit = min(options.spot_blocks, blocks - max(len(samples), 1))
    return spots(grid, limit, options.order_seed, samples) if limit > 0 else ()


def affordable(chosen: tuple[int, ...], totals: Totals) -> Iterator[tuple[tuple[int, ...], bool]]:
    """Of those, what is run next, and whether looking for races: as many blocks as that is worth by what the others
    have shown."""
    busiest = max((work for _, work in totals.busiest), default=1)
    limit = max(_SPOT_WORK // max(busiest, 1), int(busiest <= _SPOT_BLOCK_WORK))
    if chosen[:limit]:
        yield chosen[:limit], True
    if chosen[limit:]:
        yield chosen[limit:], False


def _count(grid: Grid) -> int:
    return grid[0] * grid[1] * grid[2]


def _waits(image: KernelImage, cooperative: bool) -> bool:
    return cooperative or bool(image.plan.flags & WAITING)
