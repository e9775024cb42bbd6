"""What the sampled blocks of a launch did, as the runtime counted it (runtime/count.h, runtime/caches.cpp)."""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass

GLOBAL, SHARED, LOCAL, ELSEWHERE = range(4)
_ROOM = 4096  # footprints


class SiteCountStruct(c.Structure):
    _fields_ = (
        ("requests", c.c_uint64 * 4),
        ("lanes", c.c_uint64),
        ("sectors", c.c_uint64),
        ("lines", c.c_uint64),
        ("wavefronts", c.c_uint64),
        ("least", c.c_uint64),
        ("serial", c.c_uint64),
        ("stride", c.c_int64),
        ("traced", c.c_uint64),
    )


class SiteCacheStruct(c.Structure):
    _fields_ = (
        ("l1_hits", c.c_uint64),
        ("l2_hits", c.c_uint64),
        ("cold", c.c_uint64),
        ("stores", c.c_uint64),
        ("cold_stores", c.c_uint64),
    )


class FootprintStruct(c.Structure):
    _fields_ = (
        ("sample", c.c_uint64),
        ("allocation", c.c_uint64),
        ("allocation_bytes", c.c_uint64),
        ("low", c.c_uint64),
        ("high", c.c_uint64),
        ("cold_reads", c.c_uint64),
        ("cold_writes", c.c_uint64),
    )


@dataclass(frozen=True, slots=True)
class SiteCount:
    """Accesses of one PTX instruction, summed over the sampled blocks."""

    requests: tuple[int, int, int, int]  # warp-level, by where they went: global, shared, local, elsewhere
    lanes: int
    sectors: int
    lines: int
    wavefronts: int  # shared memory
    least: int  # the same without bank conflicts
    serial: int  # atomics: lanes at the busiest address, summed over requests
    stride: int  # bytes between neighbouring lanes in the first request
    traced: int  # sectors that the cache model saw


@dataclass(frozen=True, slots=True)
class SiteCache:
    """Where traced sectors of a site were found."""

    l1_hits: int
    l2_hits: int
    cold: int
    stores: int
    cold_stores: int


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


@dataclass(frozen=True, slots=True)
class Counters:
    samples: tuple[int, ...]  # block indices
    executions: tuple[int, ...]  # warp-level, per PTX block of all functions, summed over samples
    lanes: tuple[int, ...]
    most: tuple[int, ...]  # of the warp that ran it most, summed over samples
    sites: tuple[SiteCount, ...]
    busiest_address: int  # atomic lanes at the busiest global address of all samples
    atomic_lanes: int
    atomic_sharing: int  # sampled blocks that use that address


def read_counters(runtime: c.CDLL, samples: tuple[int, ...], blocks: int, sites: int) -> Counters:
    executions, lanes, most = ((c.c_uint64 * blocks)() for _ in range(3))
    counts = (SiteCountStruct * max(sites, 1))()
    runtime.rt_count_totals(executions, lanes, most, counts)
    top, everything, sharing = c.c_uint64(), c.c_uint64(), c.c_uint64()
    runtime.rt_count_atomics(c.byref(top), c.byref(everything), c.byref(sharing))
    return Counters(
        samples,
        tuple(executions),
        tuple(lanes),
        tuple(most),
        tuple(
            SiteCount(
                tuple(s.requests), s.lanes, s.sectors, s.lines, s.wavefronts, s.least, s.serial, s.stride, s.traced
            )
            for s in counts[:sites]
        ),
        top.value,
        everything.value,
        sharing.value,
    )


def replay(runtime: c.CDLL, sites: int, l1_bytes: int, l2_bytes: int) -> tuple[list[SiteCache], list[Footprint]]:
    """Send the traces through caches of these sizes (a block's share)."""
    caches = (SiteCacheStruct * max(sites, 1))()
    prints = (FootprintStruct * _ROOM)()
    used = runtime.rt_replay(c.c_uint64(l1_bytes), c.c_uint64(l2_bytes), caches, prints, c.c_uint32(_ROOM))
    return (
        [SiteCache(s.l1_hits, s.l2_hits, s.cold, s.stores, s.cold_stores) for s in caches[:sites]],
        [
            Footprint(
                p.sample, p.allocation, p.allocation_bytes, p.low, p.high, 32 * p.cold_reads, 32 * p.cold_writes
            )
            for p in prints[:used]
        ],
    )


def work_of_samples(runtime: c.CDLL, samples: int, instructions: list[int]) -> list[int]:
    """PTX instructions (warp-level) that each sampled block ran."""
    work = (c.c_uint64 * max(samples, 1))()
    runtime.rt_count_work((c.c_uint32 * len(instructions))(*instructions), work)
    return list(work[:samples])
