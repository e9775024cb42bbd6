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
_FIRST = ("first", "first_frame", "first_entry")  # the warp that has the first turn


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
    """Blocks at which FAST may go on, behind the barrier where one is at the head → entry numbers (0 is the start)."""
    blocks = unit.flow.blocks
    before: dict[int, list[int]] = {b.index: [] for b in blocks}
    for b in blocks:
        for s in b.successors:
            before[s].append(b.index)
    entries: dict[int, int] = {}
    for b in blocks:
        if b.index == 0 and not b.barrier:
            entries[0] = 0
            continue
        joins = (
            len(before[b.index]) > 1 or any(p in slow for p in before[b.index]) or b.barrier or b.warp_sync
        )
        if joins and b.index not in slow and not b.exit_only:
            entries[b.index] = max(entries.values(), default=0) + 1
    return entries


def fast_function(
    unit: FunctionUnit, entries: dict[int, int], regions: dict[int, Region], slow: frozenset[int]
) -> tuple[str, Emitter]:
    """The whole kernel for warps whose 32 lanes stay together."""
    e = Translator(unit, fast=True)
    e.regions = regions
    after = {b.index for b in unit.flow.blocks if b.barrier is not None}
    cases = " ".join(
        f"i32 {number}, label %{'A' if index in after else 'B'}{index}"
        for index, number in entries.items()
        if number
    )
    e.do(f"switch i32 %entry, label %B0 [ {cases} ]")
    turns: list[tuple[str, str]] = []  # the warps that go on after barriers, and the labels of those
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
            turns.append(_fast_barrier(e, block))
        elif is_small_loop(block) and not has_runs(e, block):
            fast_loop(e, block)
            continue
        e.body(block)
        e.store_slots(block.live_out)
        e.count_execution(block)
        e.tick(block)
        _fast_end(e, block)
    name = f"{unit.prefix}_fast"
    if not turns:
        return function_text(name, e, ("w", "frame", "entry")), e
    return function_text(name, e, _FIRST, _turns(e, turns)), e


def _turns(e: Translator, turns: list[tuple[str, str]]) -> list[str]:
    """At a barrier another warp goes on, from where it was, with its own register file: all code is a loop over warps.
    Ends it; returns how it begins."""
    e.label("next")
    answers = ", ".join(f"[ {answer}, %{label} ]" for answer, label in turns)
    e.lines.append(f"  %other = phi ptr {answers}")
    nobody = e.ins("icmp eq ptr %other, null")
    e.do(f"br i1 {nobody}, label %all_wait, label %other_turn, !prof !0")
    e.label("all_wait")
    e.do(f"ret i32 {abi.BARRIER}")
    e.label("other_turn")
    for name, offset, type_ in (("frame", abi.FRAME, "ptr"), ("entry", abi.ENTRY, "i32")):
        e.do(f"%other_{name}_at = getelementptr inbounds i8, ptr %other, i64 {offset}")
        e.do(f"%other_{name} = load {type_}, ptr %other_{name}_at")
    e.branch("turn")
    phis = (("ptr", "w", "other"), ("ptr", "frame", "other_frame"), ("i32", "entry", "other_entry"))
    return [
        "  br label %turn",
        "turn:",
        *(
            f"  %{name} = phi {type_} [ %{first}, %start ], [ %{other}, %other_turn ]"
            for (type_, name, other), first in zip(phis, _FIRST, strict=True)
        ),
    ]


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


def _fast_barrier(e: Translator, block: Block) -> tuple[str, str]:
    """Come to a barrier, and go on behind it. Returns the warp whose turn it is then, and the barrier's label."""
    assert block.barrier is not None
    e.instr = block.barrier
    number, count, predicate, _ = barrier_operands(block.barrier)
    e.set_warp_field(abi.NEXT_BLOCK, "i32", str(block.index))
    for at, operand in enumerate((number, count)):
        val = e.read(operand, 32) if operand is not None else e.constant(0, 32)
        e.set_warp_field(abi.NEXT_MASK + 4 * at, "i32", e.scalars(val, "i32", 1)[0])
    if predicate is not None:
        bits = e.ins(f"bitcast <32 x i1> {e.vector(e.read(predicate, 1))} to i32")
        e.set_warp_field(abi.REDUCED, "i32", bits)
    turn = e.call("ptr", "rt_barrier", [("ptr", "%w")]), e.label_now
    e.branch("next")
    e.label(f"A{block.index}")
    e.start_block()
    e.effects = True
    take_reduction(e, block.barrier, e.warp_field(abi.REDUCED, "i32"))
    return turn


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
