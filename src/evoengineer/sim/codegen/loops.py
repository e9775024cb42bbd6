"""Loops of a single block in FAST code: their registers stay in machine registers from round to round.

Elsewhere a register that lives across blocks is kept in the frame. Inner loops are often one block, and there
the way through memory would be most of their time.
"""

from __future__ import annotations

from evoengineer.sim.codegen.emitter import Val
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
    e.branch(start)
    e.label(start)
    e.casts, e.splats = {}, {}
    first = {name: [e.fresh() for _ in initial[name]] for name in carried}
    place = len(e.lines)
    for name in carried:
        bits = e.register_bits(name)
        e.env[name] = e.carried[name] = Val(bits, e.slot_form(name), first[name], f"i{bits}")
    e.body(block)
    e.tick(block)
    last = {name: e.in_slot_form(name, e.env[name]) for name in carried}
    again = _end(e, block, start)
    phis = []
    for name in carried:
        bits = e.register_bits(name)
        ty = e.t(1 if e.slot_form(name) is not None else 32, f"i{bits}")
        for phi, x, y in zip(first[name], initial[name], last[name], strict=True):
            phis.append(f"  {phi} = phi {ty} [ {x}, %{before} ], [ {y}, %{again} ]")
    e.lines[place:place] = phis
    e.carried = {}


def _end(e: Translator, block: Block, start: str) -> str:
    """Branch back or leave; returns the label from which it goes back."""
    end = block.terminator
    assert end is not None
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
            e.part(bits, taken_to, fall_to)
    e.label(out)
    with e.aside():
        e.store_slots(block.live_out)
    e.branch(f"B{fall_to if taken_to == block.index else taken_to}")
    return again
