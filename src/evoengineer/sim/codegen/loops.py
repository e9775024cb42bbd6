"""Loops of a single block in FAST code: their registers stay in machine registers from round to round.

Elsewhere a register that lives across blocks is kept in the frame. Inner loops are often one block, and there
the way through memory would be most of their time. The warp's slice of ticks is counted down in a register, too;
how often the loop ran follows from it.
"""

from __future__ import annotations

from evoengineer.sim.codegen import abi
from evoengineer.sim.codegen.emitter import Rounds, Val
from evoengineer.sim.codegen.translate import Translator
from evoengineer.sim.ptx.flow import Block, destinations


def is_small_loop(block: Block) -> bool:
    """Does the block branch back to itself, and go on elsewhere otherwise?"""
    end = block.terminator
    if end is None or end.op != "bra" or end.guard is None or block.barrier or block.warp_sync:
        return False
    return block.successors.count(block.index) == 1


def fast_loop(e: Translator, block: Block) -> None:
    """The block's code; its label has been written."""
    index, end = block.index, block.terminator
    assert end is not None
    written = {name for instr in block.instrs for name in destinations(instr)}
    carried = sorted(written & block.live_in)
    for name in sorted(block.uses | set(carried)):
        e.register(name)
    before, start = e.label_now, f"L{index}"
    initial = {name: e.in_slot_form(name, e.env[name]) for name in carried}
    given = e.warp_field(abi.TICKS, "i64")
    e.branch(start)
    e.label(start)
    e.casts, e.splats = {}, {}
    first = {name: [e.fresh() for _ in initial[name]] for name in carried}
    place = len(e.lines)
    for name in carried:
        bits = e.register_bits(name)
        e.env[name] = e.carried[name] = Val(bits, e.slot_form(name), first[name], f"i{bits}")
    e.rounds = at_start = Rounds(block, e.fresh(), e.fresh())
    e.body(block)
    e.rounds = _tick(e, at_start)
    last = {name: e.in_slot_form(name, e.env[name]) for name in carried}
    again = _end(e, block, start)
    phis = [
        f"  {phi} = phi i64 [ {given}, %{before} ], [ {now}, %{again} ]"
        for phi, now in ((at_start.given, e.rounds.given), (at_start.left, e.rounds.left))
    ]
    for name in carried:
        bits = e.register_bits(name)
        ty = e.t(1 if e.slot_form(name) is not None else 32, f"i{bits}")
        for phi, x, y in zip(first[name], initial[name], last[name], strict=True):
            phis.append(f"  {phi} = phi {ty} [ {x}, %{before} ], [ {y}, %{again} ]")
    e.lines[place:place] = phis
    e.carried, e.rounds = {}, None


def _tick(e: Translator, rounds: Rounds) -> Rounds:
    """One round more; when the slice is used up, the runtime gives another."""
    block = rounds.block
    left = e.ins(f"sub i64 {rounds.left}, 1")
    over, on, before = e.new_label("tick"), e.new_label("on"), e.label_now
    e.do(f"br i1 {e.ins(f'icmp slt i64 {left}, 0')}, label %{over}, label %{on}, !prof !0")
    e.label(over)
    e.leave_rounds(Rounds(block, rounds.given, left))
    e.set_warp_field(abi.SITE, "i32", str(e.unit.sites[id(block.terminator)]))
    e.call("void", "rt_tick", [("ptr", "%w")])
    fresh = e.warp_field(abi.TICKS, "i64")
    e.branch(on)
    e.label(on)
    merged = [
        e.ins(f"phi i64 [ {fresh}, %{over} ], [ {value}, %{before} ]") for value in (rounds.given, left)
    ]
    return Rounds(block, *merged)


def _end(e: Translator, block: Block, start: str) -> str:
    """Branch back or leave; returns the label from which it goes back."""
    end = block.terminator
    assert end is not None
    assert e.rounds is not None
    taken_to, fall_to = block.successors
    out, apart = e.new_label("out"), e.new_label("apart")
    taken, fall = (start, out) if taken_to == block.index else (out, start)
    p = e.predicate_bits(end)
    again = e.label_now
    bits = ""
    if p.flat and len(p.names) == 1:
        e.do(f"br i1 {p.names[0]}, label %{taken}, label %{fall}")
    else:
        bits = e.ins(f"bitcast <32 x i1> {e.vector(p)} to i32")
        some = e.new_label("some")
        e.do(f"br i1 {e.ins(f'icmp eq i32 {bits}, -1')}, label %{taken}, label %{some}")
        e.label(some)
        again = again if taken == start else some
        e.do(f"br i1 {e.ins(f'icmp eq i32 {bits}, 0')}, label %{fall}, label %{apart}")
        e.label(apart)
        with e.aside():
            e.store_slots(block.live_out)
            e.leave_rounds(e.rounds)
            e.part(bits, block)
    e.label(out)
    with e.aside():
        e.store_slots(block.live_out)
        e.leave_rounds(e.rounds)
    e.branch(f"B{fall_to if taken_to == block.index else taken_to}")
    return again
