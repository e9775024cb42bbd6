"""How long machine instructions take to deliver, given where their data was found."""

from __future__ import annotations

from evoengineer.sim.timing import opcodes
from evoengineer.sim.timing.counters import GLOBAL, SHARED
from evoengineer.sim.timing.memory import Traffic
from evoengineer.sim.timing.model import Constants
from evoengineer.sim.timing.sass import MachineInstr
from evoengineer.sim.timing.shape import Measured

FILL_BYTES_PER_CLOCK = 64  # from L2 into one multiprocessor
_LINE_BYTES, _SECTOR_BYTES = 128, 32


def known_share(measured: Measured, traffic: Traffic, site: int) -> float:
    """Of a site's cold reads: how many find in L1 what blocks before theirs brought."""
    if measured.code.bypasses(site):
        return 0.0
    return traffic.near.get(measured.caches[site].allocation, 0.0)


class Latencies:
    """Clocks until the result of an instruction is there, and how long it takes to come in."""

    def __init__(self, measured: Measured, traffic: Traffic, constants: Constants) -> None:
        card = measured.shape.card
        l2_latency = constants.far_latency * card.l2_latency
        dram_latency = constants.far_latency * card.dram_latency
        self._card = card
        self._site_of_line = measured.code.site_of_line
        self._sites: dict[int, float] = {}
        self._fills: dict[int, float] = {}
        for number, (count, cache) in enumerate(zip(measured.counters.sites, measured.caches, strict=True)):
            requests = sum(count.requests)
            if not requests:
                continue
            # The last of its lanes has its data when all passes are done: lines, or rows of banks.
            if count.requests[GLOBAL]:
                passes = count.lines / requests * _LINE_BYTES / card.l1_bytes_per_clock
            else:
                passes = count.wavefronts / requests * _LINE_BYTES / card.shared_bytes_per_clock
            near, middle, away = cache.requests
            loads = near + middle + away
            if count.requests[SHARED] and not count.requests[GLOBAL]:
                base = float(card.shared_latency)
            elif not loads:
                base = float(l2_latency if number in measured.code.atomic_sites else card.l1_latency)
            else:
                far, known = traffic.far.get(cache.allocation, 1.0), known_share(measured, traffic, number)
                near, away = near + away * known, away * (1 - known)
                base = (
                    near * card.l1_latency
                    + (middle + away * (1 - far)) * l2_latency
                    + away * far * dram_latency
                ) / loads
                if number in measured.code.atomic_sites:
                    base = max(base, l2_latency)
            self._sites[number] = base + max(passes - 1, 0.0)
            if loads and count.requests[GLOBAL] and number not in measured.code.atomic_sites:
                found = cache.l1_hits + cache.l2_hits + cache.cold
                cold = cache.cold * (1 - known_share(measured, traffic, number))
                sectors = (cache.l2_hits + cold) / found * count.sectors / requests
                # A block's warps ask for their parts together, and the last one waits for all of them.
                block_bytes = measured.shape.warps * sectors * _SECTOR_BYTES
                self._fills[number] = block_bytes / FILL_BYTES_PER_CLOCK

    def of(self, instr: MachineInstr) -> tuple[float, float]:
        """Clocks until the first data is there, and for which the way into the multiprocessor is taken then."""
        fill = self._fills.get(self._site_of_line.get(instr.line, -1), 0.0) if instr.pipe == "global" else 0.0
        return self._first(instr), fill

    def _first(self, instr: MachineInstr) -> float:
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
            case "texture":  # coordinates become addresses first
                site = self._site_of_line.get(instr.line, -1)
                return card.l1_latency + self._sites.get(site, card.l1_latency + card.l2_latency)
            case "exchange":
                return max(card.shared_latency - 6, 1)
            case "constant":
                return card.l1_latency if instr.operation == opcodes.LDC else 20
        return card.alu_latency
