"""Loads of code that reports its accesses: one call of the runtime each (runtime/loads.cpp).

In such code, which runs seldom, a load is a vector of addresses in memory that is reported and then read from. Written
out for each of hundreds of loads, that is most of what LLVM has to do.
"""

from __future__ import annotations

from collections.abc import Sequence

from evoengineer.sim.codegen import races
from evoengineer.sim.codegen.emitter import Emitter, Val
from evoengineer.sim.ptx.model import Addr, Instr, Operand, Reg, Sym

_SPACES = frozenset({"shared", "global", "local", "generic"})
_WIDE, _SHARED, _COUNTED, _ACCESS, _WORDS_SHIFT = 1, 2, 4, 8, 8  # How in loads.cpp
_LANES_BYTES = 256  # of addresses


def is_reported(e: Emitter, instr: Instr, source: Operand, space: str, bytes_: int) -> bool:
    """Can the load be done in one call?"""
    reports = e.counting or e.unit.program.check_access
    if e.fast or not reports or bytes_ != 4 or space not in _SPACES or "volatile" in instr.mods:
        return False
    if not isinstance(source, Addr) or races.order_of(e, instr):
        return False
    if isinstance(source.base, Sym):
        return space == "shared" and source.base.name in e.unit.program.shared
    if not isinstance(source.base, Reg) or source.base.name not in e.unit.body.registers:
        return False
    bits = e.register_bits(source.base.name)
    return bits == 64 or (bits == 32 and space == "shared")


def load_reported(
    e: Emitter, instr: Instr, source: Addr, space: str, targets: Sequence[Operand]
) -> list[Val] | None:
    """The words of 32 bits that each lane reads; None if they are where runs look for them."""
    how = len(targets) << _WORDS_SHIFT
    how |= _SHARED if space == "shared" else 0
    how |= (_COUNTED if e.counting else 0) | (_ACCESS if e.unit.program.check_access else 0)
    offset, base = source.offset, "null"
    if isinstance(source.base, Sym):
        offset += e.unit.program.shared[source.base.name] + source.base.offset
    elif isinstance(source.base, Reg):
        base = _in_memory(e, source.base.name)
        how |= _WIDE if e.register_bits(source.base.name) == 64 else 0
    addresses = e.scratch(_LANES_BYTES)
    received = e.receive(targets, instr.mods[-1])
    out = received or e.scratch(128 * len(targets) + 64)  # not the room of the addresses
    site = e.unit.sites[id(instr)]
    head = [("ptr", "%w"), ("i32", str(site)), ("i32", e.active_bits())]
    rest = [("i64", str(offset)), ("i32", str(how)), ("ptr", addresses), ("ptr", out)]
    e.call("void", "rt_load", [*head, ("ptr", base), *rest])
    if e.defined is not None:
        e.defined.address = addresses
    return None if received else [e.reload(out, 32, i) for i in range(len(targets))]


def _in_memory(e: Emitter, name: str) -> str:
    """A pointer to a register's 32 lanes."""
    if name in e.unit.slots and name not in e.written:
        return e.frame(e.unit.slots[name][1])
    val = e.register(name)
    key = (e.vector(val), "memory", 32)
    if key not in e.casts:
        e.casts[key] = e.spill(val)
    return e.casts[key]
