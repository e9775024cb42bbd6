"""FAST code: the whole kernel in one function, for warps whose 32 lanes stay together."""

from __future__ import annotations

from evoengineer.sim.codegen import abi, warp
from evoengineer.sim.codegen.emitter import Emitter
from evoengineer.sim.codegen.loops import fast_loop, is_small_loop
from evoengineer.sim.codegen.regions import Region
from evoengineer.sim.codegen.runs import has_runs
from evoengineer.sim.codegen.translate import (
    Translator,
    barrier_operands,
    function_text,
    take_reduction,
)
from evoengineer.sim.codegen.unit import FunctionUnit
from evoengineer.sim.ptx.flow import Block, outside_loops
from evoengineer.sim.ptx.model import Reg

_MUCH = 300  # instructions


def needs_slow(unit: FunctionUnit, block: Block) -> bool:
    """Has the block no FAST form?"""
    for instr in block.instrs:
        if instr.op in ("call", "match"):
            return True
        if instr.op == "brx":
            form = unit.forms.get(instr.args[0].name) if isinstance(instr.args[0], Reg) else None
            return form is None or not form.uniform
    head = block.warp_sync
    if head is not None:
        constant = warp.constant_members(head)
        if constant is not None:
            return constant != abi.FULL_MASK
        operand = warp.member_operand(head)
        form = unit.forms.get(operand.name) if isinstance(operand, Reg) else None
        return form is None or not form.uniform
    if block.barrier is not None:
        for operand in barrier_operands(block.barrier)[:2]:
            if isinstance(operand, Reg):
                form = unit.forms.get(operand.name)
                if form is None or not form.uniform:
                    return True
    return False


def left_out(unit: FunctionUnit, lean: bool) -> frozenset[int]:
    """Blocks that FAST leaves to SLOW: those without a FAST form; if it is to be `lean`, what is outside of loops, too,
    where there is much of it.

    A warp runs that at most once, and often not at all (a tile at the edge). SLOW compiles what is run, and quickly.
    """
    blocks = unit.flow.blocks
    slow = {block.index for block in blocks if needs_slow(unit, block)}
    once = outside_loops(blocks)
    much = sum(len(blocks[index].instrs) for index in once) >= _MUCH
    if lean and much and len(once) < len(blocks):
        slow |= once
    return frozenset(slow)


def fast_entries(unit: FunctionUnit, slow: frozenset[int]) -> dict[int, int]:
    """Blocks at which SLOW may hand a warp back → entry numbers (0 is the start)."""
    blocks = unit.flow.blocks
    before: dict[int, list[int]] = {b.index: [] for b in blocks}
    for b in blocks:
        for s in b.successors:
            before[s].append(b.index)
    entries = {0: 0}
    for b in blocks[1:]:
        joins = (
            len(before[b.index]) > 1 or any(p in slow for p in before[b.index]) or b.barrier or b.warp_sync
        )
        if joins and b.index not in slow and not b.exit_only:
            entries[b.index] = len(entries)
    return entries


def fast_function(
    unit: FunctionUnit, entries: dict[int, int], regions: dict[int, Region], slow: frozenset[int]
) -> tuple[str, Emitter]:
    """The whole kernel for warps whose 32 lanes stay together."""
    e = Translator(unit, fast=True)
    e.regions = regions
    # The dispatcher performs the barrier at the head of a block before it hands a warp back.
    after = {b.index for b in unit.flow.blocks if b.barrier is not None}
    cases = " ".join(
        f"i32 {number}, label %{'A' if index in after else 'B'}{index}"
        for index, number in entries.items()
        if number
    )
    e.do(f"switch i32 %entry, label %B0 [ {cases} ]")
    for block in unit.flow.blocks:
        e.start_block()
        e.block_index = block.index
        e.label(f"B{block.index}")
        if block.index in slow:
            _leave(e, block.index)
            continue
        if block.warp_sync is not None and warp.constant_members(block.warp_sync) is None:
            _leave_unless_full(e, block)
        if block.barrier is not None:
            _fast_barrier(e, block)
        elif is_small_loop(block) and not has_runs(e, block):
            fast_loop(e, block)
            continue
        e.body(block)
        e.store_slots(block.live_out)
        e.count_execution(block)
        e.tick(block)
        _fast_end(e, block)
    return function_text(f"{unit.prefix}_fast", "entry", e, []), e


def _leave(e: Translator, index: int) -> None:
    e.set_warp_field(abi.NEXT_BLOCK, "i32", str(index))
    e.do(f"ret i32 {abi.ONE}")


def _leave_unless_full(e: Translator, block: Block) -> None:
    assert block.warp_sync is not None
    operand = warp.member_operand(block.warp_sync)
    full = warp.all_lanes(e, e.read(operand, 32))  # type: ignore[arg-type]
    stay, leave = e.new_label("together"), e.new_label("apart")
    e.do(f"br i1 {full}, label %{stay}, label %{leave}, !prof !1")
    e.label(leave)
    _leave(e, block.index)
    e.label(stay)


def _fast_barrier(e: Translator, block: Block) -> None:
    assert block.barrier is not None
    e.instr = block.barrier
    number, count, predicate, kind = barrier_operands(block.barrier)
    e.set_warp_field(abi.NEXT_BLOCK, "i32", str(block.index))
    args = [("ptr", "%w")]
    for operand in (number, count):
        val = e.read(operand, 32) if operand is not None else e.constant(0, 32)
        args.append(("i32", e.scalars(val, "i32", 1)[0]))
    bits = "0"
    if predicate is not None:
        bits = e.ins(f"bitcast <32 x i1> {e.vector(e.read(predicate, 1))} to i32")
    result = e.call("i32", "rt_barrier", [*args, ("i32", str(kind)), ("i32", bits)])
    e.set_warp_field(abi.REDUCED, "i32", result)
    e.branch(f"A{block.index}")
    e.label(f"A{block.index}")
    e.start_block()
    e.effects = True
    take_reduction(e, block.barrier, e.warp_field(abi.REDUCED, "i32"))


def _fast_end(e: Translator, block: Block) -> None:
    end = block.terminator
    if end is None:
        e.branch(f"B{block.index + 1}")
    elif end.op in ("ret", "exit", "trap"):
        e.set_warp_field(abi.NEXT_BLOCK, "i32", str(block.index))
        e.do(f"ret i32 {abi.EXIT}")
    elif end.op == "brx":
        index = e.scalars(e.read(end.args[0], 32), "i32", 1)[0]
        cases = " ".join(f"i32 {i}, label %B{t}" for i, t in enumerate(block.successors))
        e.do(f"switch i32 {index}, label %B{block.successors[0]} [ {cases} ]")
    elif end.guard is None:
        e.branch(f"B{block.successors[0]}")
    else:
        taken_to, fall_to = block.successors
        p = e.predicate_bits(end)
        if p.flat and len(p.names) == 1:
            e.do(f"br i1 {p.names[0]}, label %B{taken_to}, label %B{fall_to}")
            return
        bits = e.ins(f"bitcast <32 x i1> {e.vector(p)} to i32")
        some, apart = e.new_label("some"), e.new_label("apart")
        e.do(f"br i1 {e.ins(f'icmp eq i32 {bits}, -1')}, label %B{taken_to}, label %{some}")
        e.label(some)
        e.do(f"br i1 {e.ins(f'icmp eq i32 {bits}, 0')}, label %B{fall_to}, label %{apart}")
        e.label(apart)
        e.part(bits, block)
