"""Where a launch's traffic goes: from the caches' view of single blocks to the DRAM bytes of the whole grid.

The replay (runtime/caches.cpp) says, block by block, which sectors L1 and the block's part of L2 serve, and which
are *cold*. A cold sector costs DRAM traffic unless another block brings it in: blocks that run at the same time
walk through shared data together, so what a wave of blocks has in common is fetched once. Which blocks share
follows from whether a footprint moves along each axis of the grid: whether sampled blocks that differ in that place
alone touch the same. From wave to wave data survives as far as the L2 can hold what a wave touches.
"""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import NamedTuple

from evoengineer.sim.timing.counters import Footprint, Overlaps

_WAYS = 16  # of L2's sets: Jia et al., 2018, of the V100, as far as we know
_WAVERING = 8  # part of a footprint by which the ends of others may lie out of order
_CHUNK_BYTES = 256  # neighbours that lie in one channel of the memory (as in runtime/caches.cpp)
_PAGE_BYTES = 16384  # of DRAM that is open at a time, over all channels (as in runtime/caches.cpp)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes of the whole grid."""

    dram_read: float
    dram_written: float
    pieces: float  # contiguous stretches that they come in, as far as blocks that run together go
    visits: float  # of channels, each for some bytes of 256 that lie side by side
    cold: float  # read by blocks that had not read them before
    touched: Mapping[int, float]  # allocation → bytes that blocks have touched
    taken: Mapping[int, float]  # allocation → bytes that these take up in L2 afterwards
    soiled: Mapping[int, float]  # allocation → of these, the part that was written
    far: Mapping[int, float]  # allocation → cold reads that take as long as DRAM does, of all
    near: Mapping[int, float]  # the same: those that find in L1 what blocks before theirs brought
    reach: Mapping[
        int, tuple[int, int]
    ]  # allocation → the lowest byte touched, and the one behind the highest
    held: float  # by L2, for the blocks that run at a time

    @property
    def dram_share(self) -> float:
        """Of cold reads: how much comes from DRAM rather than from what other blocks brought into L2."""
        return min(self.dram_read / self.cold, 1.0) if self.cold else 1.0


@dataclass(frozen=True, slots=True)
class Motion:
    """How the footprint of a block in one allocation depends on the block's index."""

    along: tuple[bool, bool, bool]  # does it move with x, y, z?
    read_bytes: float  # by one block
    written_bytes: float
    fresh: float  # part of a footprint that its neighbour before it has not touched
    refetched_bytes: float  # read again by the same block, as its part of L2 is too small
    rewritten_bytes: float  # written again, for the same reason
    run_bytes: float  # length of its contiguous stretches, as they come up in time
    joins: tuple[bool, bool, bool]  # does a neighbour's stretch begin where this one ends?
    chunk_bytes: float  # of 256 side by side: how many it moves at a time
    completes: tuple[bool, bool, bool]  # does a neighbour move others of the same 256?
    reach: tuple[int, int]  # from the lowest to behind the highest byte that any block touches
    roams: bool  # does each block range over most of the span?
    reach_bytes: float  # of a block that touches some of a stretch here and there: how far they lie apart
    step_bytes: float  # from a block's to the next one's, if blocks move along one axis alone; else 0
    common: bool  # do most blocks touch it at all?
    spread: float  # bytes of L2 that a byte takes up there: a line has room for all of its sectors, touched or not

    @property
    def span_bytes(self) -> int:
        """No more of it can be different."""
        return self.reach[1] - self.reach[0]

    @property
    def side_by_side(self) -> bool:
        """Do blocks that touch a little here and there lie one after the other? Then they come to the same places when
        they have been through the whole span."""
        return self.step_bytes >= self.reach_bytes > 0

    @property
    def held_bytes(self) -> float:
        """What L2 has to hold for one block."""
        return self.spread * (self.read_bytes + self.written_bytes)

    def visits(self, blocks: int) -> float:
        """How often such blocks come to a place, soon after one another."""
        asked = blocks * (self.read_bytes + self.written_bytes)
        return max(asked / max(self.span_bytes, 1), 1.0) if self.side_by_side else 1.0


def grid_traffic(
    footprints: Sequence[Footprint],
    samples: Sequence[int],
    weights: Sequence[float],
    grid: tuple[int, int, int],
    wave: int,
    l2_bytes: int,
    scale: float,
    resident: Mapping[int, float],
    overlaps: Overlaps,
    l1_bytes: int = 0,
    untraced: float = 1.0,
    dirty: Mapping[int, float] = MappingProxyType({}),
) -> Traffic:
    """`wave` blocks run at a time; `scale` makes samples stand for all blocks, `untraced` makes up for a trace cut
    short; `resident` maps allocations to the fraction of them that L2 holds when the launch begins, `dirty` to the
    fraction that it holds and has yet to write; `overlaps` are those of `compared` samples."""
    pairs = compared(samples, grid)
    motions = {
        start: _motion(prints, samples, weights, grid, scale, untraced, pairs, overlaps)
        for start, prints in _by_allocation(footprints).items()
    }
    blocks = grid[0] * grid[1] * grid[2]
    wave = max(min(wave, blocks), 1)
    footprint = sum(
        min(
            distinct_blocks(m.along, grid, wave) * m.fresh * m.held_bytes / m.visits(blocks),
            m.span_bytes,
        )
        for m in motions.values()
    )
    kept = kept_fraction(footprint, l2_bytes)
    flowing = sum(  # through the L2, all allocations together, while the grid goes over them once
        min(distinct_blocks(m.along, grid, blocks) * m.fresh * m.held_bytes, m.span_bytes)
        for m in motions.values()
    )
    through = sum(m.held_bytes for m in motions.values())  # the L2, by one block
    # Blocks whose data L2 has at a time: of what it holds, half has been there for less than half a stay.
    holding = int(min(l2_bytes / 2 / max(through, 1.0), float(blocks)))
    read = written = cold = pieces = visits = 0.0
    touched: dict[int, float] = {}
    taken: dict[int, float] = {}
    soiled: dict[int, float] = {}
    far: dict[int, float] = {}
    near: dict[int, float] = {}
    for start, m in motions.items():
        everywhere = distinct_blocks(m.along, grid, blocks)
        in_waves = blocks // wave * distinct_blocks(m.along, grid, wave)
        if blocks % wave:
            in_waves += distinct_blocks(m.along, grid, blocks % wave)
        repeated = max(in_waves - everywhere, 0.0) * m.fresh
        again = repeated * (1 - kept)
        asked = everywhere * m.fresh * m.read_bytes
        volume = min(asked, float(m.span_bytes))
        stored = min(everywhere * m.fresh * m.written_bytes, float(m.span_bytes))
        fetched = volume * (1 - resident.get(start, 0.0)) + again * m.read_bytes
        # What exceeds the span is read by several blocks: by neighbours soon, by blocks that roam at any time.
        # Of neighbours some distance apart, the second comes when everything in between has been through the L2.
        passing = m.reach_bytes * flowing / min(max(asked, 1.0), float(m.span_bytes))
        # Blocks side by side have nothing in common until they have been through all of it.
        if m.side_by_side:
            passing = m.span_bytes / m.step_bytes * through
        shared = min(l2_bytes / m.span_bytes, 1.0) if m.roams else min(kept, kept_fraction(passing, l2_bytes))
        again_asked = (asked - volume) * (1 - shared)
        if not m.roams and not m.reach_bytes:
            # Blocks that run together go through what they share together, whichever they are: a wave of them fetches
            # no byte twice.
            again_asked = min(again_asked, max(-(-blocks // wave) * m.span_bytes - volume, 0.0))
        fetched += again_asked
        fetched += in_waves * m.fresh * m.refetched_bytes
        # Every byte that becomes dirty is written once: by this launch, as it displaces what earlier ones left dirty,
        # or after it. What they left dirty in the same place was theirs to pay for.
        evicted = stored * (1 - dirty.get(start, 0.0)) + again * m.written_bytes
        evicted += in_waves * m.fresh * m.rewritten_bytes
        read += fetched
        # Blocks that want the same at once all wait for it. Neighbours do, where they overlap; blocks that roam
        # come to the same places at any time.
        walked = (asked if m.roams else volume) + repeated * m.read_bytes
        walked += in_waves * m.fresh * m.refetched_bytes
        far[start] = min(fetched / walked, 1.0) if walked else 1.0
        common = m.read_bytes if not any(m.along) else float(m.span_bytes) if m.roams else math.inf
        near[start] = max(1 - wave / blocks, 0.0) if m.common and common <= l1_bytes / 2 else 0.0
        written += evicted
        # What is read is fetched when a block wants it; what is written stays in L2 until that is full, and leaves it
        # with what later blocks wrote beside it.
        for moved, together in ((fetched, wave), (evicted, max(wave, holding))):
            pieces += moved / _joined(m.run_bytes, m.joins, float(m.span_bytes), grid, together)
            visits += moved / _joined(m.chunk_bytes, m.completes, _CHUNK_BYTES, grid, together)
        cold += blocks * (m.read_bytes + m.refetched_bytes)
        distinct = max(volume, stored)
        touched[start] = min(distinct, float(m.span_bytes))
        taken[start] = min(m.spread * distinct, float(m.span_bytes))
        soiled[start] = stored / distinct if distinct else 0.0
    reach = {start: m.reach for start, m in motions.items()}
    return Traffic(read, written, pieces, visits, cold, touched, taken, soiled, far, near, reach, footprint)


def _joined(
    run: float, joins: tuple[bool, bool, bool], most: float, grid: tuple[int, int, int], wave: int
) -> float:
    """Bytes of a run once those of blocks that run together are joined."""
    left = float(wave)
    for axis in range(3):
        extent = min(float(grid[axis]), max(left, 1.0))
        if joins[axis]:
            run *= extent
        left /= grid[axis]
    return max(min(run, most), 32.0)


def kept_fraction(footprint: float, cache_bytes: int) -> float:
    """Of what was touched, how much is still in a cache when all of it has been.

    Lines are hashed to sets, and those of a set that got more than it has ways for drive one another out."""
    mean = _WAYS * footprint / cache_bytes  # other lines of a set: the number that falls there by chance
    term = total = math.exp(-mean)
    for others in range(1, _WAYS):
        term *= mean / others
        total += term
    return min(total, 1.0)


def distinct_blocks(along: tuple[bool, bool, bool], grid: tuple[int, int, int], run: int) -> float:
    """Among `run` blocks in a row: how many different footprints, if they move along these axes only?"""
    x, y, z = grid
    run = min(run, x * y * z)
    rows = min((run - 1) / x + 1, float(y * z))
    planes = min((run - 1) / (x * y) + 1, float(z))
    in_x = min(run, x) if along[0] else 1
    if along[1] and along[2]:
        others = rows
    elif along[1]:
        others = min(rows, float(y))
    else:
        others = planes if along[2] else 1.0
    if along[0] and along[1] and along[2]:
        return float(run)
    return min(in_x * others, float(run))


def _by_allocation(footprints: Sequence[Footprint]) -> dict[int, list[Footprint]]:
    found: dict[int, list[Footprint]] = defaultdict(list)
    for each in footprints:
        found[each.allocation].append(each)
    return found


class Pair(NamedTuple):
    """Two samples whose blocks differ in their place along one axis alone."""

    one: int
    other: int
    axis: int
    apart: int


def compared(samples: Sequence[int], grid: tuple[int, int, int]) -> list[Pair]:
    """All pairs that tell how a footprint moves.

    Blocks at the upper end often have less to do than the others: they are looked at only if there is nothing else.
    """
    places = [_place(block, grid) for block in samples]
    inside: list[Pair] = []
    at_the_end: list[Pair] = []
    for (i, one), (j, other) in combinations(enumerate(places), 2):
        axes = [axis for axis in range(3) if one[axis] != other[axis]]
        if len(axes) == 1:
            (axis,) = axes
            kind = inside if other[axis] < grid[axis] - 1 else at_the_end
            kind.append(Pair(i, j, axis, other[axis] - one[axis]))
    known = {pair.axis for pair in inside}
    return inside + [pair for pair in at_the_end if pair.axis not in known]


def _motion(
    prints: list[Footprint],
    samples: Sequence[int],
    weights: Sequence[float],
    grid: tuple[int, int, int],
    scale: float,
    untraced: float,
    pairs: list[Pair],
    overlaps: Overlaps,
) -> Motion:
    start = prints[0].allocation
    by_sample = {p.sample: p for p in prints}
    size = {p.sample: overlaps[start, p.sample, p.sample] for p in prints}
    largest = max(prints, key=lambda p: (p.read_bytes + p.written_bytes, -p.sample))
    # What is fetched beside it comes along, but is not wanted.
    touched = min(max(largest.read_bytes, largest.written_bytes), size[largest.sample])
    traffic = largest.read_bytes + largest.written_bytes + largest.refetched_bytes + largest.rewritten_bytes
    run = traffic / max(largest.jumps, 1)
    chunk = traffic / max(largest.chunks, 1)
    along, joins, completes = [False, False, False], [False, False, False], [False, False, False]
    news: list[float] = []  # of neighbours: the part that the one before has not touched
    step = 0.0
    for axis in range(3):
        if grid[axis] == 1:
            continue
        both = [p for p in pairs if p.axis == axis and _both(p, by_sample)]
        moved = [p for p in both if overlaps[start, p.one, p.other] < max(size[p.one], size[p.other])]
        along[axis] = bool(moved) or not both
        near = [p for p in moved if p.apart == 1]
        news += [1 - overlaps[start, p.one, p.other] / max(size[p.other], 1) for p in near]
        steps = sorted(_step(by_sample[p.one], by_sample[p.other]) for p in near)
        joins[axis] = bool(steps) and steps[len(steps) // 2] <= max(run, _PAGE_BYTES)
        completes[axis] = bool(steps) and steps[len(steps) // 2] < _CHUNK_BYTES
        step = float(steps[len(steps) // 2]) if steps else step
    extent = max(largest.high - largest.low, 1)
    # Neighbours that move others of the same lines make use of what one leaves.
    moved_bytes = max(largest.read_bytes, largest.written_bytes, 1)
    spread = 1.0 if any(completes) else max(largest.line_bytes / moved_bytes, 1.0)
    low, high = _reach({_place(samples[p.sample], grid): p for p in prints}, grid)
    fresh = 1.0
    if touched > 0.5 * extent and sum(along) == 1 and news:  # a window that slides by less than its length
        # All over the grid: neighbours that were not sampled may have less in common than those that were.
        advance = max(
            _step(by_sample[p.one], by_sample[p.other]) / p.apart
            for p in pairs
            if along[p.axis] and _both(p, by_sample)
        )
        fresh = max(*news, min(advance / extent, 1.0))
    count = sum(weights)
    read = scale * sum(p.read_bytes * weights[p.sample] for p in prints) / count
    written = scale * sum(p.written_bytes * weights[p.sample] for p in prints) / count
    refetched = scale * untraced * sum(p.refetched_bytes * weights[p.sample] for p in prints) / count
    rewritten = scale * untraced * sum(p.rewritten_bytes * weights[p.sample] for p in prints) / count
    return Motion(
        (along[0], along[1], along[2]),
        read,
        written,
        fresh,
        refetched,
        rewritten,
        run,
        (joins[0], joins[1], joins[2]),
        chunk,
        (completes[0], completes[1], completes[2]),
        (low, high),
        extent > (high - low) / 2,
        float(extent) if touched < extent / 2 else 0.0,
        step if sum(along) == 1 else 0.0,
        sum(weights[p.sample] for p in prints) > count / 2,
        spread,
    )


def _both(pair: Pair, prints: Mapping[int, Footprint]) -> bool:
    return pair.one in prints and pair.other in prints


def _reach(at: Mapping[tuple[int, int, int], Footprint], grid: tuple[int, int, int]) -> tuple[int, int]:
    """Where all blocks of a grid may touch an allocation, of which the first and the last are always sampled.

    If footprints go up (or down) along every axis, these two lie at the ends of what is touched. If not, one of them
    has nothing to do or blocks are dealt out in another order, and those that were not sampled may touch anything.
    """
    prints = list(at.values())
    low, high = min(p.low for p in prints), max(p.high for p in prints)
    both = (0, 0, 0) in at and (grid[0] - 1, grid[1] - 1, grid[2] - 1) in at
    if (both and _monotone(at)) or len(at) == grid[0] * grid[1] * grid[2]:
        return low, high
    whole = prints[0]
    return min(low, whole.allocation), max(high, whole.allocation + whole.allocation_bytes)


def _monotone(at: Mapping[tuple[int, int, int], Footprint]) -> bool:
    """Do footprints of blocks further along all axes never lie lower, or never higher? Their ends may waver."""
    pairs = [
        (first, second, (first.high - first.low) // _WAVERING)
        for place, first in at.items()
        for other, second in at.items()
        if place != other and all(map(operator.le, place, other))
    ]
    up = all(b.low >= a.low - slack and b.high >= a.high - slack for a, b, slack in pairs)
    return up or all(b.low <= a.low + slack and b.high <= a.high + slack for a, b, slack in pairs)


def _step(one: Footprint, other: Footprint) -> int:
    return abs(other.low - one.low or other.high - one.high)


def _place(index: int, grid: tuple[int, int, int]) -> tuple[int, int, int]:
    return index % grid[0], index // grid[0] % grid[1], index // grid[0] // grid[1]
