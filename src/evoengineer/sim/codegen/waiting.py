"""Loops in which threads do nothing but wait: `while (*flag != 1);`, a lock, a barrier of blocks.

A round of such a loop reads something that others may change, always at the same address, stores nothing, and only
what it read decides whether there is another round. The scheduler must know them: if all that is left waits in
such loops, nothing will ever change again.
"""

from __future__ import annotations

from evoengineer.sim.ptx.flow import Block, Flow, destinations, is_barrier, operand_names, sources
from evoengineer.sim.ptx.model import Addr, Imm, Instr, Reg

_WATCHFUL = {"volatile", "acquire", "relaxed", "mmio"}
# Atomics that leave memory as it is for as long as the answer is no.
_POLLING = {"cas", "exch", "and", "or", "min", "max"}
_HARMLESS_EFFECTS = {"ld", "atom", "membar", "fence", "nanosleep", "mbarrier"}


def waiting_loops(flow: Flow) -> dict[int, frozenset[int]]:
    """id of a branch that leads back into such a loop → the blocks of that loop."""
    found: dict[int, frozenset[int]] = {}
    for block in flow.blocks:
        end = block.terminator
        bodies = [_body(flow, head, block.index) for head in block.successors if head <= block.index]
        if end is not None and bodies and all(_waits(flow, body) for body in bodies):
            found[id(end)] = frozenset(each.index for body in bodies for each in body)
    return found


def _body(flow: Flow, head: int, tail: int) -> list[Block]:
    """The natural loop of the edge from `tail` back to `head`."""
    before: dict[int, list[int]] = {b.index: [] for b in flow.blocks}
    for block in flow.blocks:
        for successor in block.successors:
            before[successor].append(block.index)
    inside, open_ = {head, tail}, [tail] if tail != head else []
    while open_:
        for index in before[open_.pop()]:
            if index not in inside:
                inside.add(index)
                open_.append(index)
    return [flow.blocks[i] for i in sorted(inside)]


def _polls(instr: Instr) -> bool:
    """Does it read what others may change?"""
    if instr.op == "ld":
        return bool(_WATCHFUL & set(instr.mods))
    if instr.op == "mbarrier":
        return "wait" in instr.name
    nothing_added = "add" in instr.mods and Imm(0) in instr.args
    return instr.op == "atom" and (nothing_added or bool(_POLLING & set(instr.mods)))


def _waits(flow: Flow, body: list[Block]) -> bool:
    from evoengineer.sim.codegen.unit import has_effect

    instrs = [instr for block in body for instr in block.instrs]
    if any(block.barrier is not None or any(map(is_barrier, block.instrs)) for block in body):
        return False
    written = {name for instr in instrs for name in destinations(instr)}
    polled: set[str] = set()
    for instr in instrs:
        ends = instr.op in ("bra", "brx", "bar", "barrier")  # a `bar` that is left is bar.warp.sync
        if has_effect(instr) and not ends and instr.op not in _HARMLESS_EFFECTS:
            return False
        if instr.op in ("atom", "mbarrier") and not _polls(instr):
            return False
        if any(isinstance(a, Reg) and a.name.startswith(("%clock", "%globaltimer")) for a in instr.args):
            return False
        if _polls(instr):
            bases = [n for a in instr.args if isinstance(a, Addr) for n in operand_names(a)]
            if written & set(bases):
                return False
            polled.update(destinations(instr))
    deciding = _slice(instrs)
    # A register that is handed on from round to round counts them, or otherwise changes: the loop may end by itself.
    return bool(polled & deciding) and not deciding & written & body[0].live_in


def _slice(instrs: list[Instr]) -> set[str]:
    """Registers that the loop's branches hang on."""
    found = {i.guard.name for i in instrs if i.op == "bra" and i.guard is not None}
    found |= {n for i in instrs if i.op == "brx" for n in sources(i)}
    changed = True
    while changed:
        changed = False
        for instr in instrs:
            names = set(sources(instr))
            if found & set(destinations(instr)) and not names <= found:
                found |= names
                changed = True
    return found


def _hands_on_in_memory(instrs: list[Instr]) -> bool:
    """Does an atomic write what a round has made of what it read? Then the next one may go on from there."""
    found = {name for instr in instrs if _polls(instr) for name in destinations(instr)}
    grew = True
    while grew:
        made = {name for i in instrs if found & set(sources(i)) for name in destinations(i)} - found
        found |= made
        grew = bool(made)
    values = {
        name
        for i in instrs
        if i.op == "atom"
        for a in i.args[1:]
        if isinstance(a, Reg)
        for name in operand_names(a)
    }
    return bool(values & found)


def idle_blocks(flow: Flow) -> dict[int, frozenset[int]]:
    """Blocks of waiting loops that hand nothing on from round to round, so that a hundred rounds do what one does, and
    the blocks from which their loop is entered. How often they run says nothing of the kernel, only of who waited for
    whom."""
    found: dict[int, frozenset[int]] = {}
    waits = waiting_loops(flow)
    for block in flow.blocks:
        if id(block.terminator) not in waits:
            continue
        for head in (s for s in block.successors if s <= block.index):
            body = _body(flow, head, block.index)
            inside = {each.index for each in body}
            instrs = [instr for each in body for instr in each.instrs]
            handed_on = {name for i in instrs for name in destinations(i)} & flow.blocks[head].live_in
            if (
                handed_on
                or any(i.op == "ld" and not _polls(i) for i in instrs)
                or _hands_on_in_memory(instrs)
            ):
                continue
            entries = frozenset(
                b.index for b in flow.blocks if head in b.successors and b.index not in inside
            )
            found.update(dict.fromkeys(inside, entries))
    return found
