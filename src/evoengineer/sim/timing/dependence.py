"""Does what a kernel does hang on the data it reads?

A launch like an earlier one takes that one's counts, unless its data may send it another way: a branch or an address
that comes from memory. Registers are followed without regard to order, so that the answer errs on the safe side.
"""

from __future__ import annotations

from collections.abc import Iterable

from evoengineer.sim.codegen.unit import Program
from evoengineer.sim.ptx.flow import destinations, operand_names, sources
from evoengineer.sim.ptx.model import Addr, Instr

_READS = frozenset({"ld", "ldu", "atom", "tex", "tld4", "suld", "call", "ldmatrix"})
_BRANCHES = frozenset({"bra", "brx", "exit", "ret", "trap"})
_TOUCHES = frozenset({"ld", "ldu", "st", "atom", "red", "cp", "suld", "sust", "tex", "tld4"})


def hangs_on_data(program: Program) -> bool:
    for unit in program.units:
        instrs = [instr for block in unit.flow.blocks for instr in block.instrs]
        read = _from_memory(instrs)
        for instr in instrs:
            if instr.op in _BRANCHES | _TOUCHES and instr.guard is not None and instr.guard.name in read:
                return True
            if instr.op in _BRANCHES and read & set(sources(instr)):
                return True
            if instr.op in _TOUCHES and read & set(_addressing(instr)):
                return True
    return False


def _from_memory(instrs: list[Instr]) -> set[str]:
    """Registers whose value comes from memory in some way."""
    found = {name for i in instrs if i.op in _READS and "param" not in i.mods for name in destinations(i)}
    grew = True
    while grew:
        grew = False
        for instr in instrs:
            made = set(destinations(instr)) - found
            if made and found & set(sources(instr)):
                found |= made
                grew = True
    return found


def _addressing(instr: Instr) -> Iterable[str]:
    """Registers that say where an access goes; of textures, all that it gets."""
    if instr.op in ("tex", "tld4", "suld"):
        return sources(instr)
    return [name for a in instr.args if isinstance(a, Addr) for name in operand_names(a)]
