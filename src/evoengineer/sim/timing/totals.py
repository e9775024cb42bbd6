"""Exact totals of a launch, and what they make of the figures that its samples gave.

The runtime counts how often each PTX block ran over the whole grid (runtime/totals.h). The sampled blocks say what
an execution does to memory; how many executions there are is taken from the totals, so that work in blocks that
were not sampled is charged like the work that was. Code that only such blocks ran is charged as if every lane of
its accesses went to a sector of its own in DRAM.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from evoengineer.sim.timing.code import KernelCode
from evoengineer.sim.timing.counters import Counters, SiteCache, SiteCount

_LANES, _SECTOR_BYTES = 32, 32


@dataclass(frozen=True, slots=True)
class Totals:
    """Of every block of a launch's grid."""

    executions: tuple[int, ...]  # warp-level, per PTX block of all functions
    lanes: tuple[int, ...]
    instructions: int  # of PTX, warp-level, rounds of waiting loops included
    busiest: tuple[
        tuple[int, int], ...
    ]  # blocks of the grid and their instructions without these, most first

    def with_more(self, others: Totals) -> Totals:
        """Of other blocks of the same launch, too."""
        busiest = sorted((*self.busiest, *others.busiest), key=lambda each: (-each[1], each[0]))
        return Totals(
            tuple(a + b for a, b in zip(self.executions, others.executions, strict=True)),
            tuple(a + b for a, b in zip(self.lanes, others.lanes, strict=True)),
            self.instructions + others.instructions,
            tuple(busiest[: max(len(self.busiest), len(others.busiest))]),
        )


@dataclass(frozen=True, slots=True)
class Agreed:
    """Counters and caches as the totals have them, still in units of the samples."""

    counters: Counters
    caches: tuple[SiteCache, ...]
    scale: float = 1.0  # of what samples bring in from DRAM
    unseen_bytes: float = 0.0  # by accesses that no sample made
    longest: float = 1.0  # instructions of the busiest block, over those of the mean block
    disagreement: float = 0.0  # instructions that the samples would have misplaced, of all


def agree(
    counters: Counters, caches: tuple[SiteCache, ...], totals: Totals | None, blocks: int, code: KernelCode
) -> Agreed:
    """The samples' figures, with executions as they really were; as they are, if only samples ran."""
    if totals is None or not totals.instructions:
        return Agreed(counters, caches)
    share = len(counters.samples) / blocks
    executions = tuple(map(_rounded, (count * share for count in totals.executions), counters.executions))
    executions = _once(executions, code.idling)
    ratios = {
        number: exact / sampled if sampled else None
        for number, (exact, sampled) in enumerate(zip(executions, counters.executions, strict=True))
        if exact or sampled
    }
    sites, seen, unseen = [], [], 0.0
    cold = cold_exact = 0.0
    for site, (count, cache) in enumerate(zip(counters.sites, caches, strict=True)):
        number = code.block_of_site.get(site)
        ratio = 1.0 if number is None else ratios.get(number, 1.0)
        if ratio is None:
            assert number is not None
            count, cache = _worst(executions[number], code.width(site))
            unseen += _SECTOR_BYTES * cache.cold
        else:
            cold += cache.cold + cache.cold_stores
            count, cache = _scaled_count(count, ratio), _scaled_cache(cache, ratio)
            cold_exact += cache.cold + cache.cold_stores
        sites.append(count)
        seen.append(cache)
    most = tuple(
        top * (ratios.get(number) or 1.0) if top else executions[number]
        for number, top in enumerate(counters.most)
    )
    agreed = replace(
        counters,
        executions=executions,
        lanes=tuple(map(_rounded, (count * share for count in totals.lanes), counters.lanes)),
        most=most,
        sites=tuple(sites),
    )
    scale = cold_exact / cold if cold else 1.0
    work = sum(size * runs for size, runs in zip(code.instructions, executions, strict=True)) / share
    longest = totals.busiest[0][1] * blocks / work if totals.busiest and work else 1.0
    wrong = _disagreement(_once(counters.executions, code.idling), executions, code.instructions)
    return Agreed(agreed, tuple(seen), scale, unseen, max(longest, 1.0), wrong)


def _once(executions: tuple[float, ...], idling: Mapping[int, frozenset[int]]) -> tuple[float, ...]:
    """A loop that only waits is run once each time that it is entered."""
    found = list(executions)
    for number, entries in idling.items():
        found[number] = min(found[number], sum(executions[each] for each in entries))
    return tuple(found)


def _rounded(exact: float, sampled: float) -> float:
    """The samples' own figure where the two differ by rounding only."""
    return sampled if math.isclose(exact, sampled, rel_tol=1e-9) else exact


def _disagreement(
    sampled_runs: tuple[float, ...], executions: tuple[float, ...], instructions: tuple[int, ...]
) -> float:
    misplaced = total = 0.0
    for exact, sampled, size in zip(executions, sampled_runs, instructions, strict=True):
        misplaced += size * abs(exact - sampled)
        total += size * exact
    return misplaced / total if total else 0.0


def _worst(requests: float, width: int) -> tuple[SiteCount, SiteCache]:
    """An access that no sample made: nothing is known but how often."""
    if not width:  # merged into another by ptxas
        requests = 0.0
    sectors = requests * _LANES
    count = SiteCount((requests, 0.0, 0.0, 0.0), sectors, sectors, sectors, 0.0, 0.0, 0.0, 0, sectors)
    return count, SiteCache(0.0, 0.0, sectors, 0.0, 0.0, (0.0, 0.0, requests), 0)


def _scaled_count(count: SiteCount, ratio: float) -> SiteCount:
    a, b, c, d = (each * ratio for each in count.requests)
    return replace(
        count,
        requests=(a, b, c, d),
        lanes=count.lanes * ratio,
        sectors=count.sectors * ratio,
        lines=count.lines * ratio,
        wavefronts=count.wavefronts * ratio,
        least=count.least * ratio,
        serial=count.serial * ratio,
        traced=count.traced * ratio,
        queue=count.queue * ratio,
    )


def _scaled_cache(cache: SiteCache, ratio: float) -> SiteCache:
    near, middle, far = (each * ratio for each in cache.requests)
    stored, fetched, evicted, visits = cache.local
    return replace(
        cache,
        l1_hits=cache.l1_hits * ratio,
        l2_hits=cache.l2_hits * ratio,
        cold=cache.cold * ratio,
        stores=cache.stores * ratio,
        cold_stores=cache.cold_stores * ratio,
        requests=(near, middle, far),
        local=(stored * ratio, fetched * ratio, evicted * ratio, visits * ratio),
    )
