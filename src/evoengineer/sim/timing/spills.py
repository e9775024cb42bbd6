"""What registers that have no place cost beyond their instructions: the bytes that L1, and then L2, cannot keep.

ptxas spills them into local memory, which PTX knows nothing of: no access of theirs is traced. How much lies there for
all resident threads is known, how often it is stored and loaded, and what else comes through L1 in the meantime: what a
cache has no room for goes to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evoengineer.sim.timing.machine import MachineBlock
from evoengineer.sim.timing.memory import kept_fraction
from evoengineer.sim.timing.shape import Measured, Shape

_LANES = 32


@dataclass(frozen=True, slots=True)
class Spills:
    """Bytes of the whole grid."""

    l2: float = 0.0
    dram: float = 0.0


def spills(
    measured: Measured, blocks: Sequence[MachineBlock], block_bytes: float, held_bytes: float
) -> Spills:
    """A block reads `block_bytes` through L1; L2 has to hold `held_bytes` of it for the blocks that run at a time."""
    code, shape = measured.code, measured.shape
    samples = len(measured.counters.samples)
    moved = runs = 0.0
    instructions = 0
    for block in blocks:
        for instr in code.machine.instrs[block.first : block.last]:
            if instr.pipe == "local" and instr.line not in code.site_of_line:
                moved += block.executions * _LANES * instr.bytes
                instructions += 1
                runs += block.executions / samples / shape.warps
    if not moved:
        return Spills()
    # In a loop they come back each time that it goes round.
    between = block_bytes * instructions / max(runs, instructions)
    stored = shape.resources.spill_bytes / 2  # of stores and loads, as they stand in the code
    return beyond_caches(moved / samples * shape.blocks, stored, between, held_bytes, shape)


def beyond_caches(moved: float, stored: float, between: float, held: float, shape: Shape) -> Spills:
    """Of `moved` bytes of spills, what leaves L1 and L2. `stored` lie in memory for each thread, `between` come through
    L1 for each block until they are wanted again."""
    here = stored * shape.threads * shape.resident
    past_l1 = 1 - kept_fraction(here + between * shape.resident, shape.l1_bytes)
    past_l2 = 1 - kept_fraction(held + past_l1 * here * shape.card.sm_count, shape.card.l2_bytes)
    return Spills(moved * past_l1, moved * past_l1 * past_l2)
