"""Which registers may hold what nobody has written (--check init), and which reads that may come from."""

from __future__ import annotations

from evoengineer.sim.ptx.flow import destinations, sources
from evoengineer.sim.ptx.model import Addr, Body, Instr, Sym

CARRY = "%cc"  # the carry flag, kept like a register of the current block
READS = ("ld", "ldu", "atom", "ldmatrix", "wmma")  # where undefined bits come from
# Instructions whose results are defined whatever their operands are (or that are not followed).
SETTLED = frozenset({"call", "mbarrier", "elect", "activemask", "tex", "tld4", "suld", "txq", "suq", "cp", "bar",
                     "barrier", "createpolicy"})  # fmt: skip


def reads_memory(instr: Instr) -> bool:
    """May the instruction read memory that nobody has written?"""
    if instr.op not in READS or "const" in instr.mods or (instr.op == "wmma" and "load" not in instr.mods):
        return False
    address = next((a for a in instr.args if isinstance(a, Addr)), None)
    return not ("param" in instr.mods and address is not None and isinstance(address.base, Sym))


def find_origins(body: Body, sites: dict[int, int]) -> dict[str, int]:
    """Registers that may be undefined → the sites of the reads that their bits may come from, as a bit set."""
    found: dict[str, int] = {}
    changed = True
    while changed:
        changed = False
        for instr in body.instrs:
            origins = 0
            if reads_memory(instr):
                origins |= 1 << sites[id(instr)]
            elif instr.op not in SETTLED:
                for name in sources(instr):
                    origins |= found.get(name, 0)
                if instr.op in ("addc", "subc", "madc"):
                    origins |= found.get(CARRY, 0)
            if instr.guard is not None:
                origins |= found.get(instr.guard.name, 0)
            if not origins:
                continue
            for name in destinations(instr) + ((CARRY,) if "cc" in instr.mods else ()):
                if origins & ~found.get(name, 0):
                    found[name] = found.get(name, 0) | origins
                    changed = True
    return found
