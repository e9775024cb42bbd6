"""How long each pipe of a multiprocessor is busy: per machine block, in clocks."""

from __future__ import annotations

from collections import defaultdict

from evoengineer.card.profile import Profile
from evoengineer.sim.timing import opcodes
from evoengineer.sim.timing.arithmetic import tensor_rate
from evoengineer.sim.timing.code import KernelCode
from evoengineer.sim.timing.counters import ELSEWHERE, GLOBAL, LOCAL, SHARED, Counters
from evoengineer.sim.timing.machine import MachineBlock
from evoengineer.sim.timing.model import Constants
from evoengineer.sim.timing.shape import Measured

_LINE_BYTES = 128
_BARRIER_LANES_PER_CLOCK = 16  # CUDA C++ Programming Guide: __syncthreads
_TEXTURE_UNITS = 4  # of a multiprocessor, from Volta on: whitepapers
PER_SCHEDULER = frozenset({"issue", "fma", "alu", "half", "fp64", "sfu", "uniform"})


def count_retries(code: KernelCode, counters: Counters, blocks: list[MachineBlock]) -> None:
    """A compare-and-swap loop of the machine's goes round once for each lane at the same address, and for as long as
    other warps of its block come in between: whoever has seen an old value by then has to try again."""
    places: dict[int, list[MachineBlock]] = defaultdict(list)
    for block in blocks:
        for instr in code.machine.instrs[block.first : block.last]:
            site = code.site_of_line.get(instr.line)
            if site is not None and instr.operation in opcodes.SHARED_CAS | opcodes.GLOBAL_CAS:
                places[site].append(block)
                break
    for site, loops in places.items():
        count = counters.sites[site]
        requests = count.requests[GLOBAL] + count.requests[SHARED]
        rounds = max(count.serial / requests, 1.0) if requests and code.retried(site) else 1.0
        most = sum(block.most for block in loops)
        for block in loops:
            # What waits for L2 is the model's business: there the blocks of the whole grid may come in between.
            queue = count.queue * block.most / most if most and count.requests[SHARED] else 0.0
            block.executions *= rounds
            block.most = max(block.most * rounds, queue)


def block_use(code: KernelCode, block: MachineBlock, card: Profile) -> dict[str, float]:
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
        "texture": counts["texture"] * lanes / _TEXTURE_UNITS,
    }
    return {name: clocks for name, clocks in use.items() if clocks}


def memory_use(
    measured: Measured, blocks: list[MachineBlock], constants: Constants
) -> list[dict[str, float]]:
    """Clocks of the load/store unit and of the constant cache, all samples together, in the machine block where
    each site mostly runs."""
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
    at_once = {code.site_of_line.get(i.line) for i in code.machine.instrs if i.operation == opcodes.COUNT}
    busiest = max(range(len(blocks)), key=lambda n: blocks[n].executions, default=0)
    use: list[dict[str, float]] = [defaultdict(float) for _ in blocks]
    for site, count in enumerate(measured.counters.sites):
        # Addresses come in at the rate of the load/store lanes, data goes out at the rate of the banks. What a conflict
        # makes wait is sent through again, with nothing beside it.
        least = 32 / card.lsu_per_clock
        per_wavefront = _LINE_BYTES / card.shared_bytes_per_clock
        clocks = max(count.least * per_wavefront, count.requests[SHARED] * least)
        # Requests get in one another's way as instructions do on every pipe. The passes of a single request do not:
        # lines beyond those that its bytes fill, and banks that are asked again, follow one another without a gap.
        again = (count.wavefronts - count.least) * per_wavefront
        issued = (count.requests[GLOBAL] + count.requests[LOCAL]) * max(least, constants.request_clocks)
        passes = count.lines * _LINE_BYTES / card.l1_bytes_per_clock
        filled = min(max(count.lanes * code.width(site) / card.l1_bytes_per_clock, issued), passes)
        clocks += max(issued, filled)
        again += passes - filled if passes > issued else 0.0
        clocks += constants.pipe_efficiency * again
        if site in code.atomic_sites and count.requests[SHARED] and site not in at_once:
            clocks += max(count.serial - count.requests[SHARED], 0)
        if clocks and site not in code.image_sites:
            use[home.get(site, busiest)]["lsu"] += clocks * merged.get(site, 1.0)
    for block, part in zip(blocks, use, strict=True):
        for instr in code.machine.instrs[block.first : block.last]:
            site = code.site_of_line.get(instr.line)
            if instr.operation == opcodes.LDC and site is not None:
                count = measured.counters.sites[site]
                words = count.serial / count.requests[ELSEWHERE] if count.requests[ELSEWHERE] else 1.0
                part["constant"] += block.executions * words
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


def tensor_use(
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
