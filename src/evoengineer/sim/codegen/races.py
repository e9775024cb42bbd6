"""What the race check must know of an instruction: how it orders memory, and what it stores.

Only code compiled for --check race or init calls these; runtime/checks.h says what becomes of it.
"""

from __future__ import annotations

from evoengineer.sim.codegen.emitter import Emitter, Val
from evoengineer.sim.ptx.flow import destinations, sources
from evoengineer.sim.ptx.model import Addr, Imm, Instr, Reg, Sym

# enum Order in runtime/checks.h
STRONG, ACQUIRE, RELEASE, FENCING, OF_BLOCK = 1, 2, 4, 8, 16
_STRONG = {"volatile", "relaxed", "acquire", "release", "acq_rel", "sc", "mmio"}


def order_of(e: Emitter, instr: Instr) -> int:
    """The flags of enum Order."""
    mods = set(instr.mods)
    how = FENCING if mods & {"release", "acq_rel", "sc"} else 0
    how |= OF_BLOCK if "cta" in mods else 0
    if instr.op == "atom":
        return STRONG | RELEASE | how | (ACQUIRE if _result_used(e, instr) else 0)
    if instr.op == "red":
        return STRONG | RELEASE | how
    if instr.op in ("ld", "st") and mods & _STRONG:
        return STRONG | how | (ACQUIRE if instr.op == "ld" else RELEASE)
    if instr.op == "ld" and _compared(e) and _place(e, instr) in _compared(e):
        return STRONG
    if "mbarrier" in (instr.op, *mods):  # arrivals and waits order whoever takes part
        return STRONG | ACQUIRE | RELEASE | FENCING
    return 0


def _compared(e: Emitter) -> frozenset[tuple[str, int]]:
    """Where the function has a compare-and-swap. A loop around one begins with a plain load of the place
    (the CUDA programming guide shows it so); what it reads is checked by the swap, so it cannot do harm."""
    unit = e.unit
    if unit.compared_places is None:
        found = (_place(e, i) for i in unit.body.instrs if i.op == "atom" and "cas" in i.mods)
        unit.compared_places = frozenset(place for place in found if place is not None)
    return unit.compared_places


def _place(e: Emitter, instr: Instr) -> tuple[str, int] | None:
    """The address operand, by the register or symbol that it comes from."""
    operand = next((a for a in instr.args if isinstance(a, Addr)), None)
    if operand is None or operand.base is None:
        return None
    name, offset = operand.base.name, operand.offset
    for _ in range(8):
        origin = _origin(e, name)
        if origin is None:
            break
        name, offset = origin[0], offset + origin[1]
    return name, offset


def _origin(e: Emitter, name: str) -> tuple[str, int] | None:
    """What an address register was made from: a copy, another address space, a constant further on."""
    writers = [i for i in e.unit.body.instrs if name in destinations(i)]
    if len(writers) != 1 or len(writers[0].args) < 2 or not isinstance(writers[0].args[1], Reg | Sym):
        return None
    args = writers[0].args
    if writers[0].op in ("cvta", "mov"):
        return args[1].name, 0  # type: ignore[union-attr]
    if writers[0].op == "add" and len(args) == 3 and isinstance(args[2], Imm):
        return args[1].name, args[2].value  # type: ignore[union-attr]
    return None


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
