"""A module is accepted if ptxas accepts it: what it refuses does not run here either. Registers are its figures, and
blocks are no larger than these allow.

Without ptxas a module runs all the same, with registers that are estimated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evoengineer.card.occupancy import largest_block
from evoengineer.card.profile import Profile
from evoengineer.errors import DeviceError
from evoengineer.sim.engine.modules import Module
from evoengineer.sim.wire.protocol import CudaError

if TYPE_CHECKING:
    from evoengineer.sim.timing.assemblers import Assemblers

_MOST_LINES = 12


def accept(module: Module, assemblers: Assemblers, card: Profile) -> Module:
    """Wait for ptxas; DeviceError with its complaint if it refuses a text."""
    linked = module.linked
    for number, text in enumerate(linked.texts):
        assembly = assemblers.assembly(text)
        if assembly.failure:
            raise DeviceError(assembly.failure, code=CudaError.UNKNOWN, kind="environment")
        if assembly.refusal:
            lines = assembly.refusal.strip().splitlines()[:_MOST_LINES]
            report = "\n".join(["ptxas refuses the PTX of this program:", *(f"    {line}" for line in lines)])
            raise DeviceError(lines[0] if lines else report, report, CudaError.INVALID_PTX, "ptxas")
        for name, resources in assembly.resources.items():
            if name in module.kernels and linked.text_of.get(name) == number:
                known = module.kernels[name]
                threads = min(known.max_threads, largest_block(card, resources.registers))
                module.kernels[name] = replace(known, registers=resources.registers, max_threads=threads)
    return module
