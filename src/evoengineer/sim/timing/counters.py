"""What the sampled blocks of a launch did, as the runtime counted it (runtime/count.h, runtime/caches.cpp)."""

from __future__ import annotations

import ctypes as c
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

GLOBAL, SHARED, LOCAL, ELSEWHERE = range(4)
_ROOM = 16384  # footprints


class SiteTotal(c.Structure):
    """ctypes mirror of SiteTotal in runtime/caches.cpp; `SiteCount` says what the fields are."""

    _fields_ = (
        ("requests", c.c_double * 4),
        ("lanes", c.c_double),
        ("sectors", c.c_double),
        ("lines", c.c_double),
        ("wavefronts", c.c_double),
        ("least", c.c_double),
        ("serial", c.c_double),
        ("traced", c.c_double),
        ("stride", c.c_double),
        ("queue", c.c_double),
    )


class SiteCacheTotal(c.Structure):
    _fields_ = (
        *((name, c.c_double) for name in ("l1_hits", "l2_hits", "cold", "stores", "cold_stores")),
        ("requests", c.c_double * 3),
        ("local", c.c_double * 4),
        ("allocation", c.c_uint64),
    )


class FootprintStruct(c.Structure):
    _fields_ = tuple(
        (name, c.c_uint64)
        for name in (
            "sample", "allocation", "allocation_bytes", "low", "high", "cold_reads", "cold_writes", "runs",
            "refetched", "rewritten", "jumps", "late", "chunks", "lines",
        )
    )  # fmt: skip


class AtomicTotal(c.Structure):
    _fields_ = tuple((name, c.c_uint64) for name in ("sectors", "same", "same_floats", "swaps"))


class CacheShares(c.Structure):
    """ctypes mirror of Caches in runtime/caches.cpp: a block's share of L1 and L2, and what DRAM delivers at a time."""

    _fields_ = tuple((name, c.c_uint64) for name in ("l1_bytes", "l2_bytes", "dram_unit_bytes"))


@dataclass(frozen=True, slots=True)
class AtomicLine:
    """Atomics in one line of memory."""

    sectors: int  # of warps whose lanes have several addresses in it, none of them crowded
    same: int  # lanes that come to one address in turn: integers
    same_floats: int  # the same: floating-point numbers
    swaps: int = (
        0  # at its busiest word: compare-and-swaps of the program's own, of which one at a time succeeds
    )


@dataclass(frozen=True, slots=True)
class SiteCount:
    """Accesses of one PTX instruction, summed over the sampled blocks by weight."""

    # warp-level, by where they went: global, shared, local, elsewhere
    requests: tuple[float, float, float, float]
    lanes: float
    sectors: float
    lines: float
    wavefronts: float  # shared memory
    least: float  # the same without bank conflicts
    serial: float  # summed over requests: lanes at an atomic's busiest address, words of constant memory
    stride: int  # bytes between neighbouring lanes in the first request
    traced: float  # sectors that the cache model saw
    queue: float = 0.0  # summed over blocks: compare-and-swaps that follow one another at the busiest word


@dataclass(frozen=True, slots=True)
class SiteCache:
    """Where traced sectors of a site were found."""

    l1_hits: float
    l2_hits: float
    cold: float
    stores: float
    cold_stores: float
    # loads by where the last of their sectors comes from: L1, L2, farther
    requests: tuple[float, float, float]
    allocation: int  # where its first access was, 0: not in one
    # sectors of local memory that L1 could not keep: written to L2, read from DRAM, written there; visits of DRAM
    local: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one sampled block touches of one allocation, in bytes."""

    sample: int
    allocation: int
    allocation_bytes: int
    low: int
    high: int
    read_bytes: int
    written_bytes: int
    runs: int  # contiguous stretches that it consists of
    refetched_bytes: int = 0  # read again after the block's part of L2 had lost them
    rewritten_bytes: int = 0  # written again after that
    jumps: int = 0  # sectors fetched or written where nothing near them was, shortly before
    late_bytes: int = 0  # of read_bytes and written_bytes: those after the trace was full
    chunks: int = 0  # visits of 256 bytes, each to one channel of the memory
    line_bytes: int = 0  # of lines that it touches any of


@dataclass(frozen=True, slots=True)
class Counters:
    """Sums over the samples, each weighted by the blocks it stands for; weights have a mean of one."""

    samples: tuple[int, ...]  # block indices
    weights: tuple[float, ...]
    executions: tuple[float, ...]  # warp-level, per PTX block of all functions
    lanes: tuple[float, ...]
    most: tuple[float, ...]  # of the warp that ran it most
    sites: tuple[SiteCount, ...]
    schedulers: tuple[float, float, float, float]  # PTX instructions of the warps that each scheduler gets
    busiest_line: AtomicLine  # of global memory, all samples together
    atomic_sharing: int  # sampled blocks that use the most shared line

    def imbalance(self, warps: int) -> float:
        """How much more the busiest of four schedulers has to do than the average; 1 is even.

        Blocks whose warps are no multiple of four start with another scheduler each time.
        """
        total = sum(self.schedulers)
        return 4 * max(self.schedulers) / total if total and warps % 4 == 0 else 1.0


def read_counters(
    runtime: c.CDLL,
    samples: tuple[int, ...],
    weights: tuple[float, ...],
    instructions: tuple[int, ...],
    sites: int,
) -> Counters:
    """`instructions` are those of each PTX block."""
    blocks = len(instructions)
    executions, lanes, most = ((c.c_double * blocks)() for _ in range(3))
    totals = (SiteTotal * max(sites, 1))()
    schedulers = (c.c_double * 4)()
    sizes = (c.c_uint32 * blocks)(*instructions)
    weighted = (c.c_double * len(weights))(*weights)
    runtime.rt_count_totals(weighted, sizes, executions, lanes, most, totals, schedulers)
    top, sharing = AtomicTotal(), c.c_uint64()
    runtime.rt_count_atomics(c.byref(top), c.byref(sharing))
    return Counters(
        samples,
        weights,
        tuple(executions),
        tuple(lanes),
        tuple(most),
        tuple(
            SiteCount(
                (s.requests[0], s.requests[1], s.requests[2], s.requests[3]),
                s.lanes,
                s.sectors,
                s.lines,
                s.wavefronts,
                s.least,
                s.serial,
                int(s.stride),
                s.traced,
                s.queue,
            )
            for s in totals[:sites]
        ),
        (schedulers[0], schedulers[1], schedulers[2], schedulers[3]),
        AtomicLine(top.sectors, top.same, top.same_floats, top.swaps),
        sharing.value,
    )


def replay(
    runtime: c.CDLL, weights: tuple[float, ...], sites: int, shares: CacheShares
) -> tuple[list[SiteCache], list[Footprint]]:
    """Send the traces through caches of these sizes."""
    caches = (SiteCacheTotal * max(sites, 1))()
    prints = (FootprintStruct * _ROOM)()
    weighted = (c.c_double * len(weights))(*weights)
    used = runtime.rt_replay(shares, weighted, caches, prints, c.c_uint32(_ROOM))
    return (
        [
            SiteCache(
                s.l1_hits,
                s.l2_hits,
                s.cold,
                s.stores,
                s.cold_stores,
                tuple(s.requests),
                s.allocation,
                tuple(s.local),
            )
            for s in caches[:sites]
        ],
        [
            Footprint(
                p.sample,
                p.allocation,
                p.allocation_bytes,
                p.low,
                p.high,
                32 * p.cold_reads,
                32 * p.cold_writes,
                p.runs,
                32 * p.refetched,
                32 * p.rewritten,
                p.jumps,
                32 * p.late,
                p.chunks,
                128 * p.lines,
            )
            for p in prints[:used]
        ],
    )


Overlaps = Mapping[tuple[int, int, int], int]  # allocation and two samples → bytes that both touch


def read_overlaps(runtime: c.CDLL, prints: Sequence[Footprint], pairs: Iterable[tuple[int, int]]) -> Overlaps:
    """Of the samples that were replayed last. Of a sample and itself: all that it touches."""
    held: dict[int, list[Footprint]] = defaultdict(list)
    for each in prints:
        held[each.sample].append(each)
    wanted = {*pairs, *((sample, sample) for sample in held)}
    return {
        (p.allocation, one, other): runtime.rt_common(one, other, p.allocation, p.allocation_bytes)
        for one, other in wanted
        for p in held[one]
    }
