"""SLOW code: one function per block, for any set of lanes."""

from __future__ import annotations

from evoengineer.sim.codegen import abi, undefined
from evoengineer.sim.codegen.emitter import Emitter
from evoengineer.sim.codegen.runs import TooManyVectors
from evoengineer.sim.codegen.translate import (
    Translator,
    barrier_operands,
    function_text,
    take_reduction,
)
from evoengineer.sim.codegen.unit import FunctionUnit
from evoengineer.sim.ptx.flow import Block
from evoengineer.sim.ptx.model import Operand

# -- SLOW --------------------------------------------------------------------------------------------


def slow_block(unit: FunctionUnit, index: int, counting: bool = False) -> tuple[str, Emitter]:
    """The function of one block for any set of lanes; `counting`: in the form that reports its accesses."""
    try:
        return _slow_block(unit, index, counting, tables=True)
    except TooManyVectors:
        return _slow_block(unit, index, counting, tables=False)


def _slow_block(unit: FunctionUnit, index: int, counting: bool, tables: bool) -> tuple[str, Emitter]:
    e = Translator(unit, fast=False)
    e.counting, e.tables = counting, tables
    block = unit.flow.blocks[index]
    e.block_index = index
    e.mask, e.mask_bits = "%lanes", "%mask"
    e.start_block()
    if block.barrier is not None:
        predicate = barrier_operands(block.barrier)[2]
        if e.defined is not None and predicate is not None:
            e.defined.require([predicate], block.barrier, undefined.REDUCTION)
        take_reduction(e, block.barrier, e.warp_field(abi.REDUCED, "i32"))
    e.body(block)
    e.store_slots(block.live_out)
    e.tick(block)
    _slow_end(e, block)
    lead = ["  %lanes = bitcast i32 %mask to <32 x i1>"]
    return function_text(f"{unit.prefix}_b{index}", e, ("w", "frame", "mask"), lead), e


def _slow_end(e: Translator, block: Block) -> None:
    end = block.terminator
    if e.defined is not None and end is not None and end.op in ("bra", "brx"):
        deciding: list[Operand] = (
            [end.guard] if end.guard is not None else [end.args[0]] if end.op == "brx" else []
        )
        e.defined.require(deciding, end, undefined.BRANCH)
    if end is None:
        _go(e, block.index + 1)
    elif end.op in ("ret", "exit", "trap"):
        code = abi.EXIT_THREAD if end.op == "exit" and not e.unit.function.entry else abi.EXIT
        e.set_warp_field(abi.NEXT_BLOCK, "i32", str(block.index))
        e.do(f"ret i32 {code}")
    elif end.op == "brx":
        index = e.vector(e.read(end.args[0], 32))
        chosen = "splat (i32 0)"
        for i, target in enumerate(block.successors):
            here = e.ins(f"icmp eq <32 x i32> {index}, splat (i32 {i})")
            chosen = e.ins(f"select <32 x i1> {here}, <32 x i32> splat (i32 {target}), <32 x i32> {chosen}")
        pointer = e.ins(f"getelementptr inbounds i8, ptr %w, i64 {abi.LANE_NEXT}")
        e.do(f"store <32 x i32> {chosen}, ptr {pointer}, align 4")
        e.do(f"ret i32 {abi.SCATTER}")
    elif end.guard is None:
        _go(e, block.successors[0])
    else:
        taken_to, fall_to = block.successors
        p = e.ins(f"bitcast <32 x i1> {e.vector(e.predicate_bits(end))} to i32")
        taken = e.ins(f"and i32 {p}, %mask")
        fall = e.ins(f"xor i32 {taken}, %mask")
        none, all_ = e.ins(f"icmp eq i32 {taken}, 0"), e.ins(f"icmp eq i32 {fall}, 0")
        first = e.ins(f"select i1 {none}, i32 {fall_to}, i32 {taken_to}")
        e.set_warp_field(abi.NEXT_BLOCK, "i32", first)
        e.set_warp_field(abi.NEXT_BLOCK + 4, "i32", str(fall_to))
        e.set_warp_field(abi.NEXT_MASK, "i32", taken)
        e.set_warp_field(abi.NEXT_MASK + 4, "i32", fall)
        one = e.ins(f"or i1 {none}, {all_}")
        e.do(f"ret i32 {e.ins(f'select i1 {one}, i32 1, i32 2')}")


def _go(e: Translator, target: int) -> None:
    e.set_warp_field(abi.NEXT_BLOCK, "i32", str(target))
    e.do("ret i32 1")
