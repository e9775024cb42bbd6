"""Counters and code of a launch → the work it asks of the card → its profile.

Everything per machine instruction comes together here: its executions (machine), what its site did (counters),
where the data came from (memory). The result is a `Work` for the model and a `LaunchProfile` for people.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from evoengineer.device.occupancy import KernelResources, occupancy_limits
from evoengineer.device.profile import Profile
from evoengineer.device.sim.timing import opcodes
from evoengineer.device.sim.timing.arithmetic import scalar_rate, tensor_rate
from evoengineer.device.sim.timing.code import KernelCode
from evoengineer.device.sim.timing.counters import GLOBAL, LOCAL, SHARED, Counters, Footprint, SiteCache
from evoengineer.device.sim.timing.machine import MachineBlock, machine_blocks, pace, phases, weigh
from evoengineer.device.sim.timing.memory import Traffic, grid_traffic
from evoengineer.device.sim.timing.model import CONSTANTS, Constants, Phase, Prediction, Work, norm, predict
from evoengineer.device.sim.timing.ptxas import Resources
from evoengineer.device.sim.timing.sass import MachineInstr

_LINE_BYTES, _SECTOR_BYTES = 128, 32
_BARRIER_LANES_PER_CLOCK = 16  # CUDA C++ Programming Guide: __syncthreads
_FILL_BYTES_PER_CLOCK = 64  # from L2 into one multiprocessor
_PER_SCHEDULER = frozenset({"issue", "fma", "alu", "half", "fp64", "sfu", "uniform"})
_CAS = 0x18D  # ATOMS.CAS, the heart of a retry loop


@dataclass(frozen=True, slots=True)
class Shape:
    """A launch's configuration on a card."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    resources: Resources
    card: Profile

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps(self) -> int:
        return -(-self.threads // 32)

    def limits(self) -> dict[str, int]:
        kernel = KernelResources(self.threads, self.shared_bytes, self.resources.registers)
        return occupancy_limits(self.card, kernel)

    @property
    def fitting(self) -> int:
        """Blocks that fit on one multiprocessor."""
        return max(min(self.limits().values()), 1)

    @property
    def resident(self) -> int:
        """Blocks that are there at once: never more than the grid gives each multiprocessor."""
        return min(self.fitting, -(-self.blocks // self.card.sm_count))

    @property
    def l1_bytes(self) -> int:
        """What the shared memory of resident blocks leaves of the common storage."""
        card = self.card
        if not self.shared_bytes:
            shared = 0
        else:
            need = self.fitting * (self.shared_bytes + card.shared_reserved_bytes)
            sizes = [1024 * size for size in card.shared_carveouts_kib]
            shared = next((size for size in sorted(sizes) if size >= need), max(sizes))
        return max(card.l1_shared_bytes_per_sm - shared, 16384)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was counted in a launch and stays the same when it is repeated."""

    shape: Shape
    code: KernelCode
    counters: Counters
    caches: tuple[SiteCache, ...]
    footprints: tuple[Footprint, ...]


@dataclass(slots=True)
class Analysis:
    """One evaluation of a measured launch."""

    work: Work
    prediction: Prediction
    traffic: Traffic
    instructions: float  # warp-level, whole grid
    waits: dict[int, float]  # PTX line → clocks that a warp spends there
    sums: dict[str, float]


def analyse(measured: Measured, resident: Mapping[int, float], constants: Constants = CONSTANTS) -> Analysis:
    """`resident` says which allocations L2 holds when the launch begins."""
    shape, code, counters = measured.shape, measured.code, measured.counters
    card, samples = shape.card, len(counters.samples)
    traffic, scale = _traffic(measured, resident)
    blocks = machine_blocks(code.machine)
    weigh(code.machine, blocks, code.block_of_line, counters.executions, counters.most, samples * shape.warps)
    _retries(code, counters, blocks)
    latencies = _latencies(measured, traffic, constants)
    durations, waits = pace(code.machine, blocks, latencies.of)
    busy = [_block_use(code, block, card) for block in blocks]
    memory_use = _memory_use(measured, blocks)
    tensor_use = _tensor_use(code, counters, card, blocks)
    sums = _sums(measured, scale)
    parts: list[Phase] = []
    total: dict[str, float] = defaultdict(float)
    for group in phases(code.machine, blocks):
        use: dict[str, float] = defaultdict(float)
        latency = 0.0
        for n in group:
            latency += blocks[n].most / samples * durations[n]
            if code.machine.instrs[blocks[n].last - 1].operation == opcodes.BAR:
                latency += blocks[n].most / samples * constants.barrier_clocks
            for name, clocks in busy[n].items():
                use[name] += clocks * blocks[n].executions / samples
            for name, clocks in memory_use[n].items():
                use[name] += clocks / samples
            if tensor_use[n]:
                use["tensor"] += tensor_use[n] / samples
        use["fma"] = max(use.pop("imad", 0.0), use.get("fma", 0.0))
        for name in _PER_SCHEDULER & use.keys():
            use[name] *= counters.imbalance(shape.warps)
        parts.append(Phase(latency, max(use.values(), default=0.0)))
        for name, clocks in use.items():
            total[name] += clocks
    if sums["written_lines"] and parts:  # a block's place is free when its stores have arrived
        drain = constants.far_latency * card.l2_latency
        parts[-1] = Phase(parts[-1].latency + drain, parts[-1].demand)
    grown = shape.blocks / samples
    l2_bytes = grown * (_SECTOR_BYTES * sums["l2_sectors"] + _LINE_BYTES * sums["written_lines"])
    total["l1 fill"] = _SECTOR_BYTES * sums["l2_sectors"] / samples / _FILL_BYTES_PER_CLOCK
    work = Work(
        shape.blocks,
        shape.fitting,
        tuple(parts),
        dict(total),
        l2_bytes,
        traffic.dram_read,
        traffic.dram_written,
        traffic.pieces,
        _atomic_updates(counters, shape),
        _contexts(shape, code, blocks),
    )
    instructions = sum(b.executions * (b.last - b.first) for b in blocks) * grown
    by_line: dict[int, float] = defaultdict(float, waits)
    for block in blocks:
        for instr in code.machine.instrs[block.first : block.last]:
            by_line[instr.line] += block.executions * max(instr.stall, 1)
    return Analysis(work, predict(work, card, constants), traffic, instructions, dict(by_line), sums)


def _traffic(measured: Measured, resident: Mapping[int, float]) -> tuple[Traffic, float]:
    shape, counters = measured.shape, measured.counters
    traced = sum(s.traced for s in counters.sites)
    seen = sum(s.sectors for s in counters.sites)
    scale = seen / traced if traced else 1.0
    wave = shape.resident * shape.card.sm_count
    traffic = grid_traffic(
        measured.footprints,
        counters.samples,
        counters.weights,
        shape.grid,
        wave,
        shape.card.l2_bytes,
        scale,
        resident,
    )
    return traffic, scale


def _retries(code: KernelCode, counters: Counters, blocks: list[MachineBlock]) -> None:
    """A compare-and-swap loop goes round once for each lane at the same address."""
    for block in blocks:
        for instr in code.machine.instrs[block.first : block.last]:
            site = code.site_of_line.get(instr.line)
            if instr.operation == _CAS and site is not None and counters.sites[site].requests[SHARED]:
                rounds = counters.sites[site].serial / counters.sites[site].requests[SHARED]
                block.executions *= max(rounds, 1.0)
                block.most *= max(rounds, 1.0)
                break


class _latencies:
    """Clocks until the result of an instruction is there."""

    def __init__(self, measured: Measured, traffic: Traffic, constants: Constants) -> None:
        card = measured.shape.card
        l2_latency = constants.far_latency * card.l2_latency
        dram_latency = constants.far_latency * card.dram_latency
        self._card = card
        self._site_of_line = measured.code.site_of_line
        self._sites: dict[int, float] = {}
        for number, (count, cache) in enumerate(zip(measured.counters.sites, measured.caches, strict=True)):
            requests = sum(count.requests)
            if not requests:
                continue
            extra = count.lines / requests if count.requests[GLOBAL] else count.wavefronts / requests
            found = cache.l1_hits + cache.l2_hits + cache.cold
            if count.requests[SHARED] and not count.requests[GLOBAL]:
                base = float(card.shared_latency)
            elif not found:
                base = float(l2_latency if number in measured.code.atomic_sites else card.l1_latency)
            else:
                far = traffic.dram_share
                base = (
                    cache.l1_hits * card.l1_latency
                    + (cache.l2_hits + cache.cold * (1 - far)) * l2_latency
                    + cache.cold * far * dram_latency
                ) / found
                if number in measured.code.atomic_sites:
                    base = max(base, l2_latency)
            self._sites[number] = base + max(extra - 1, 0.0)

    def of(self, instr: MachineInstr) -> float:
        card = self._card
        match instr.pipe:
            case "global" | "shared" | "local":
                site = self._site_of_line.get(instr.line)
                if site is not None and site in self._sites:
                    return self._sites[site]
                return {"shared": card.shared_latency, "local": card.l1_latency, "global": card.l2_latency}[
                    instr.pipe
                ]
            case "sfu":
                return card.sfu_latency
            case "fp64":
                return card.fp64_latency
            case "texture":
                return 2 * card.l1_latency + card.l2_latency
            case "exchange":
                return max(card.shared_latency - 6, 1)
            case "constant":
                return card.l1_latency if instr.operation == 0x182 else 20
        return card.alu_latency


def _block_use(code: KernelCode, block: MachineBlock, card: Profile) -> dict[str, float]:
    """Clocks of a multiprocessor that one execution by one warp keeps each pipe busy."""
    counts: dict[str, int] = defaultdict(int)
    for instr in code.machine.instrs[block.first : block.last]:
        counts[instr.pipe] += 1
    lanes = 32
    use = {
        "issue": sum(counts.values()) / card.schedulers_per_sm,
        "fma": (counts["fma"] + counts["imad"]) * lanes / card.fp32_per_clock,
        "imad": counts["imad"] * lanes / card.int32_multiply_per_clock,
        "alu": counts["alu"] * lanes / card.int32_per_clock,
        "half": counts["half"] * 2 * lanes / card.fp16_per_clock,
        "fp64": counts["fp64"] * lanes / card.fp64_per_clock,
        "sfu": counts["sfu"] * lanes / card.sfu_per_clock,
        "uniform": counts["uniform"] * 2 / card.schedulers_per_sm,
        "lsu": counts["exchange"] * lanes / card.shuffle_per_clock,
        "barrier": counts["barrier"] * lanes / _BARRIER_LANES_PER_CLOCK,
    }
    return {name: clocks for name, clocks in use.items() if clocks}


def _memory_use(measured: Measured, blocks: list[MachineBlock]) -> list[dict[str, float]]:
    """Clocks of the load/store unit, all samples together, in the machine block where each site mostly runs."""
    code, card = measured.code, measured.shape.card
    home: dict[int, int] = {}
    for n, block in enumerate(blocks):
        for instr in code.machine.instrs[block.first : block.last]:
            site = code.site_of_line.get(instr.line)
            if site is None or instr.pipe not in ("shared", "global", "local"):
                continue
            if site not in home or blocks[home[site]].executions < block.executions:
                home[site] = n
    merged = _merged(measured, blocks)
    busiest = max(range(len(blocks)), key=lambda n: blocks[n].executions, default=0)
    use: list[dict[str, float]] = [defaultdict(float) for _ in blocks]
    for site, count in enumerate(measured.counters.sites):
        # Addresses come in at the rate of the load/store lanes, data goes out at the rate of the banks.
        least = 32 / card.lsu_per_clock
        clocks = max(
            count.wavefronts * _LINE_BYTES / card.shared_bytes_per_clock, count.requests[SHARED] * least
        )
        clocks += max(
            count.lines * _LINE_BYTES / card.l1_bytes_per_clock,
            (count.requests[GLOBAL] + count.requests[LOCAL]) * least,
        )
        if site in code.atomic_sites and count.requests[SHARED]:
            clocks += max(count.serial - count.requests[SHARED], 0)
        if clocks:
            use[home.get(site, busiest)]["lsu"] += clocks * merged.get(site, 1.0)
    for block, part in zip(blocks, use, strict=True):  # spills, which PTX knows nothing of
        spills = sum(
            instr.pipe == "local" and instr.line not in code.site_of_line
            for instr in code.machine.instrs[block.first : block.last]
        )
        if spills:
            part["lsu"] += spills * block.executions
    return [dict(each) for each in use]


def _merged(measured: Measured, blocks: list[MachineBlock]) -> dict[int, float]:
    """Site → machine requests per PTX request, where ptxas made one wide access of several turns of a loop."""
    code = measured.code
    issued: dict[int, float] = defaultdict(float)
    for block in blocks:
        for instr in code.machine.instrs[block.first : block.last]:
            site = code.site_of_line.get(instr.line)
            if site is not None and instr.pipe in ("shared", "global", "local"):
                issued[site] += block.executions
    found = {}
    for site, count in issued.items():
        requests = sum(measured.counters.sites[site].requests)
        if 0 < count < 0.8 * requests:
            found[site] = count / requests
    return found


def _tensor_use(
    code: KernelCode, counters: Counters, card: Profile, blocks: list[MachineBlock]
) -> list[float]:
    """Clocks of the tensor cores, all samples together, by machine block."""
    clocks = 0.0
    for runs, products in zip(counters.executions, code.matrix, strict=True):
        for kind, each in products.items():
            clocks += runs * each / tensor_rate(card, kind)
    if not clocks:
        return [0.0] * len(blocks)
    issued = [
        b.executions * sum(i.pipe == "tensor" for i in code.machine.instrs[b.first : b.last]) for b in blocks
    ]
    total = sum(issued)
    return [clocks * part / total if total else clocks / len(blocks) for part in issued]


def _atomic_updates(counters: Counters, shape: Shape) -> float:
    """Updates of the busiest line of global memory, which the L2 does one after the other."""
    samples = len(counters.samples)
    if counters.atomic_sharing > 1 or samples == shape.blocks:
        return counters.busiest_line / samples * shape.blocks
    return float(counters.busiest_line)


def _contexts(shape: Shape, code: KernelCode, blocks: list[MachineBlock]) -> float:
    """Warps proceed on their own, but a block's warps that meet at barriers proceed together."""
    meets = any(b.executions and code.machine.instrs[b.last - 1].operation == opcodes.BAR for b in blocks)
    return float(shape.resident if meets else shape.resident * shape.warps)


def _sums(measured: Measured, scale: float) -> dict[str, float]:
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
        if number in code.atomic_sites:
            sums["written_lines"] += count.sectors if count.requests[GLOBAL] else 0
        else:
            sums["l2_sectors"] += (cache.l2_hits + cache.cold) * grow
            # The L2 takes writes line by line: a few bytes of a line cost as much as all of it.
            sums["written_lines"] += count.lines if cache.stores and count.requests[GLOBAL] else 0
        width = code.count_bytes[number] & 0x7F if number < len(code.count_bytes) else 0
        if count.requests[GLOBAL]:
            sums["useful"] += min(count.lanes * width, count.sectors * _SECTOR_BYTES)
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


def compute_share(
    sums: Mapping[str, float], grown: float, card: Profile, time_ns: float
) -> tuple[float, float]:
    """Floating-point operations of the grid, and their part of what the card could do in that time."""
    flops = clocks = 0.0
    for name, value in sums.items():
        group, _, kind = name.partition(" ")
        if group in ("flops", "matrix") and kind:
            rate = scalar_rate(card, kind) if group == "flops" else tensor_rate(card, kind)
            flops += value * grown
            clocks += value * grown / 2 / rate / card.sm_count
    return flops, clocks / (time_ns * card.clock_khz / 1e6) if time_ns else 0.0


__all__ = ["Analysis", "Measured", "Shape", "analyse", "compute_share", "norm"]
