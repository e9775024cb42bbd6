"""What the race check must know of an instruction: how it orders memory, and what it stores.

Only code compiled for --check race or init calls these; runtime/checks.h says what becomes of it.
"""

from __future__ import annotations

from evoengineer.device.sim.codegen.emitter import Emitter, Val
from evoengineer.device.sim.ptx.flow import destinations, sources
from evoengineer.device.sim.ptx.model import Instr

# enum Order in runtime/checks.h
STRONG, ACQUIRE, RELEASE, FENCING = 1, 2, 4, 8
_STRONG = {"volatile", "relaxed", "acquire", "release", "acq_rel", "sc", "mmio"}


def order_of(e: Emitter, instr: Instr) -> int:
    """The flags of enum Order."""
    mods = set(instr.mods)
    fencing = FENCING if mods & {"release", "acq_rel", "sc"} else 0
    if instr.op == "atom":
        return STRONG | RELEASE | fencing | (ACQUIRE if _result_used(e, instr) else 0)
    if instr.op == "red":
        return STRONG | RELEASE | fencing
    if instr.op in ("ld", "st") and mods & _STRONG:
        return STRONG | fencing | (ACQUIRE if instr.op == "ld" else RELEASE)
    if instr.op == "mbarrier":  # arrivals and waits order whoever takes part
        return STRONG | ACQUIRE | RELEASE | FENCING
    return 0


def _result_used(e: Emitter, instr: Instr) -> bool:
    unit = e.unit
    if unit.read_registers is None:
        unit.read_registers = frozenset(name for each in unit.body.instrs for name in sources(each))
    return any(name in unit.read_registers for name in destinations(instr))


def record(
    e: Emitter, who: list[tuple[str, str]], instr: Instr, where: str, values: list[Val] | None
) -> None:
    """Report the access that is about to happen; `who` are warp, site and lanes."""
    order = order_of(e, instr)
    head = [*who, ("ptr", where)]
    if values:
        data = e.spill_all(values)
        extra = [("i32", str(order)), ("ptr", data), ("i32", str(values[0].bits // 8))]
        e.call("void", "rt_access_store", [*head, *extra])
    elif order:
        e.call("void", "rt_access_ordered", [*head, ("i32", str(order))])
    else:
        e.call("void", "rt_access", head)
