"""How long machine instructions take to deliver, given where their data was found."""

from __future__ import annotations

from evoengineer.device.sim.timing.counters import GLOBAL, SHARED
from evoengineer.device.sim.timing.memory import Traffic
from evoengineer.device.sim.timing.model import Constants
from evoengineer.device.sim.timing.sass import MachineInstr
from evoengineer.device.sim.timing.shape import Measured


class Latencies:
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
