"""Counters and code of a launch → the work it asks of the card → its profile.

Everything per machine instruction comes together here: its executions (machine), what its site did (counters),
where the data came from (memory). The result is a `Work` for the model and a `LaunchProfile` for people.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from evoengineer.card.profile import Profile
from evoengineer.sim.timing import opcodes
from evoengineer.sim.timing.arithmetic import scalar_rate, tensor_rate
from evoengineer.sim.timing.counters import GLOBAL, LOCAL, Counters
from evoengineer.sim.timing.latency import FILL_BYTES_PER_CLOCK, Latencies, known_share
from evoengineer.sim.timing.machine import MachineBlock, machine_blocks, pace, phases, weigh
from evoengineer.sim.timing.memory import Traffic, grid_traffic
from evoengineer.sim.timing.model import (
    CONSTANTS,
    Constants,
    Phase,
    Prediction,
    Work,
    asking,
    independent,
    predict,
)
from evoengineer.sim.timing.pipes import (
    PER_SCHEDULER,
    block_use,
    count_retries,
    memory_use,
    tensor_use,
)
from evoengineer.sim.timing.shape import Measured, Shape
from evoengineer.sim.timing.spills import spills

_LINE_BYTES, _SECTOR_BYTES = 128, 32


@dataclass(slots=True)
class Analysis:
    """One evaluation of a measured launch."""

    work: Work
    prediction: Prediction
    traffic: Traffic
    instructions: float  # warp-level, whole grid
    waits: dict[int, float]  # PTX line → clocks that a warp spends there
    sums: dict[str, float]


def analyse(
    measured: Measured,
    resident: Mapping[int, float],
    dirty: Mapping[int, float],
    constants: Constants = CONSTANTS,
) -> Analysis:
    """`resident` says which allocations L2 holds when the launch begins, `dirty` which it has yet to write."""
    shape, code, counters = measured.shape, measured.code, measured.counters
    card, samples = shape.card, len(counters.samples)
    traffic = _traffic(measured, resident, dirty)
    grown = shape.blocks / samples
    unseen = measured.agreed.unseen_bytes * grown
    blocks = machine_blocks(code.machine)
    weigh(
        code.machine, blocks, code.block_of_line, counters.executions, counters.most, samples, shape.warps, code.halves
    )  # fmt: skip
    count_retries(code, counters, blocks)
    latencies = Latencies(measured, traffic, constants)
    durations, waits = pace(code.machine, blocks, latencies.of)
    sums = _sums(measured, traffic)
    parts, total = _phases(measured, blocks, durations, constants)
    contexts = shape.resident * independent(shape.warps, parts, card, constants)
    if sums["written"] and parts:  # a block's place is free when its stores have left the multiprocessor
        parts[-1] = replace(parts[-1], latency=parts[-1].latency + card.l1_latency)
    spilled = spills(measured, blocks, _SECTOR_BYTES * sums["sectors"] / samples, traffic.held)
    l2_bytes = grown * (_SECTOR_BYTES * sums["l2_sectors"] + sums["written"]) + spilled.l2
    total["l1 fill"] = _SECTOR_BYTES * sums["l2_sectors"] / samples / FILL_BYTES_PER_CLOCK
    work = Work(
        shape.blocks,
        shape.fitting,
        tuple(parts),
        dict(total),
        l2_bytes,
        traffic.dram_read + unseen + grown * _SECTOR_BYTES * sums["local_fetched"] + spilled.dram / 2,
        traffic.dram_written + grown * _SECTOR_BYTES * sums["local_evicted"] + spilled.dram / 2,
        traffic.pieces + unseen / _SECTOR_BYTES + grown * sums["local_visits"],
        traffic.visits + unseen / _SECTOR_BYTES + grown * sums["local_visits"],
        _atomic_clocks(counters, shape, constants),
        contexts,
        asking(contexts, shape.blocks / (card.sm_count * shape.resident), card),
        shape.warps,
        measured.agreed.longest,
        _peak_clocks(sums, grown, card),
    )
    instructions = sum(b.executions * (b.last - b.first) for b in blocks) * grown
    by_line: dict[int, float] = defaultdict(float, waits)
    for block in blocks:
        for instr in code.machine.instrs[block.first : block.last]:
            by_line[instr.line] += block.executions * max(instr.stall, 1)
    return Analysis(work, predict(work, card, constants), traffic, instructions, dict(by_line), sums)


def _phases(
    measured: Measured, blocks: list[MachineBlock], durations: list[float], constants: Constants
) -> tuple[list[Phase], dict[str, float]]:
    """A block's way from barrier to barrier, and how long it keeps each pipe busy altogether."""
    shape, code, counters = measured.shape, measured.code, measured.counters
    samples = len(counters.samples)
    memory = memory_use(measured, blocks, constants)
    tensor = tensor_use(code, counters, shape.card, blocks)
    found: list[Phase] = []
    total: dict[str, float] = defaultdict(float)
    for group in phases(code.machine, blocks):
        use: dict[str, float] = defaultdict(float)
        latency = meetings = 0.0
        for n in group:
            times = blocks[n].most / samples
            latency += times * durations[n]
            if code.machine.instrs[blocks[n].last - 1].operation == opcodes.BAR:
                latency += times * constants.barrier_clocks
                meetings += times
            for name, clocks in block_use(code, blocks[n], shape.card).items():
                use[name] += clocks * blocks[n].executions / samples
            for name, clocks in memory[n].items():
                use[name] += clocks / samples
            if tensor[n]:
                use["tensor"] += tensor[n] / samples
        use["fma"] = max(use.pop("imad", 0.0), use.get("fma", 0.0))
        for name in PER_SCHEDULER & use.keys():
            use[name] *= counters.imbalance(shape.warps)
        found.append(Phase(latency, max(use.values(), default=0.0), meetings))
        for name, clocks in use.items():
            total[name] += clocks
    return found, total


def _traffic(measured: Measured, resident: Mapping[int, float], dirty: Mapping[int, float]) -> Traffic:
    shape, counters = measured.shape, measured.counters
    wave = shape.resident * shape.card.sm_count
    return grid_traffic(
        measured.footprints,
        counters.samples,
        counters.weights,
        shape.grid,
        wave,
        shape.card.l2_bytes,
        measured.agreed.scale,
        resident,
        measured.overlaps,
        shape.l1_bytes,
        _untraced(measured),
        dirty,
    )


def _untraced(measured: Measured) -> float:
    """Makes accesses to what a block has touched before, as far as they were traced, stand for all of them."""
    traced = sum(s.traced for s in measured.counters.sites)
    seen = sum(s.sectors for s in measured.counters.sites)
    first = late = 0.0  # sectors touched for the first time, and of these: after the trace was full
    for each in measured.footprints:
        weight = measured.counters.weights[each.sample] / _SECTOR_BYTES
        first += weight * (each.read_bytes + each.written_bytes)
        late += weight * each.late_bytes
    again = traced - (first - late)
    return max(seen - first, again) / again if again > 0 else 1.0


def _atomic_clocks(counters: Counters, shape: Shape, constants: Constants) -> float:
    """Of the busiest line of global memory, whose atomics the L2 does one after the other."""
    samples, line = len(counters.samples), counters.busiest_line
    clocks = line.sectors * constants.atomic_clocks
    clocks += line.same * constants.atomic_lane_clocks + line.same_floats * constants.atomic_float_clocks
    # What a compare-and-swap compares with must have come from L2 after the swap before.
    clocks = max(clocks, line.swaps * shape.card.l2_latency)
    shared = counters.atomic_sharing > 1 or samples == shape.blocks
    return clocks / samples * shape.blocks if shared else clocks


def _sums(measured: Measured, traffic: Traffic) -> dict[str, float]:
    """Totals over the samples."""
    sums: dict[str, float] = defaultdict(float)
    code = measured.code
    for number, (count, cache) in enumerate(zip(measured.counters.sites, measured.caches, strict=True)):
        grow = count.sectors / count.traced if count.traced else 1.0
        sums["requests"] += count.requests[GLOBAL]
        sums["sectors"] += count.sectors if count.requests[GLOBAL] else 0
        sums["local_sectors"] += count.sectors if count.requests[LOCAL] else 0
        sums["lines"] += count.lines
        sums["wavefronts"] += count.wavefronts
        sums["least"] += count.least
        sums["l1_hits"] += cache.l1_hits * grow
        sums["l2_hits"] += cache.l2_hits * grow
        sums["cold"] += cache.cold * grow
        stored, fetched, evicted, visits = (each * grow for each in cache.local)
        sums["written"] += _SECTOR_BYTES * stored
        sums["local_fetched"] += fetched
        sums["local_evicted"] += evicted
        sums["local_visits"] += visits
        if number in code.atomic_sites:
            if count.requests[GLOBAL]:
                rounds = 1 + count.serial / sum(count.requests) if code.retried(number) else 1.0
                sums["written"] += _LINE_BYTES * count.sectors * rounds
        else:
            cold = cache.cold * (1 - known_share(measured, traffic, number))
            sums["l2_sectors"] += (cache.l2_hits + cold) * grow
            # The L2 takes writes line by line: a few bytes of a line cost as much as half of it or all of it.
            if cache.stores and count.requests[GLOBAL]:
                least = measured.shape.card.l2_write_bytes * count.lines
                sums["written"] += max(_SECTOR_BYTES * count.sectors, least)
        width = code.width(number)
        if count.requests[GLOBAL]:
            whole = count.sectors * _SECTOR_BYTES
            sums["useful"] += whole if number in code.image_sites else min(count.lanes * width, whole)
    for runs, lanes, flops, products in zip(
        measured.counters.executions, measured.counters.lanes, code.flops, code.matrix, strict=True
    ):
        for kind, each in flops.items():
            sums[f"flops {kind}"] += each * lanes
        for kind, each in products.items():
            sums[f"matrix {kind}"] += 2 * each * runs
    weights = zip(measured.counters.executions, measured.counters.lanes, code.instructions, strict=True)
    for runs, lanes, size in weights:
        sums["issued"] += runs * size
        sums["active"] += lanes * size
    return sums


def _operations(sums: Mapping[str, float]) -> Iterator[tuple[str, str, float]]:
    """Group (flops or matrix), type and number of what the samples computed."""
    for name, value in sums.items():
        group, _, kind = name.partition(" ")
        if group in ("flops", "matrix") and kind:
            yield group, kind, value


def _peak_clocks(sums: Mapping[str, float], grown: float, card: Profile) -> float:
    """The grid's floating-point operations at the rate of the units that do them, if nothing else stood in the way."""
    clocks = 0.0
    for group, kind, value in _operations(sums):
        rate = scalar_rate(card, kind) if group == "flops" else tensor_rate(card, kind)
        clocks += value * grown / 2 / rate / card.sm_count
    return clocks


def compute_share(
    sums: Mapping[str, float], grown: float, card: Profile, time_ns: float
) -> tuple[float, float]:
    """Floating-point operations of the grid, and their part of what the card could do in that time."""
    flops = grown * sum(value for _, _, value in _operations(sums))
    clocks = _peak_clocks(sums, grown, card)
    return flops, clocks / (time_ns * card.clock_khz / 1e6) if time_ns else 0.0
