"""MASKED code: what lies between a divergent branch and its join (regions.py), in one function.

Blocks run as the dispatcher of SLOW would run them, the smallest with pending lanes first, so that every block runs
as often and for the same lanes; but control flow stays in compiled code, and registers keep their form of FAST. What
has no such form (barriers, warp-wide operations, calls, branches without a region of their own) is handed over to
SLOW, lane by lane, as are loops in which lanes that wait would starve.
"""

from __future__ import annotations

from evoengineer.sim.codegen import abi
from evoengineer.sim.codegen.emitter import Emitter
from evoengineer.sim.codegen.fast import needs_slow
from evoengineer.sim.codegen.regions import MOST_INSTRUCTIONS, Region, find_regions, may_part
from evoengineer.sim.codegen.translate import Translator, function_text
from evoengineer.sim.codegen.unit import FunctionUnit
from evoengineer.sim.ptx.flow import Block

_STARVED = 4096  # kStarved of dispatch.cpp


def regions_of(unit: FunctionUnit, waits: bool) -> dict[int, Region]:
    """The regions of a kernel that are worth a function; none where warps wait for each other (`waits`)."""
    blocks = unit.flow.blocks
    if waits:
        return {}
    found = {}
    for index, region in find_regions(blocks, unit.forms).items():
        sides = [s for s in blocks[index].successors if s != region.join]
        size = sum(len(blocks[i].instrs) for i in region.blocks)
        worth = size <= MOST_INSTRUCTIONS and all(has_masked_form(unit, blocks[s]) for s in sides)
        if worth and not _ends_threads(unit, blocks[index]):
            found[index] = region
    return found


def has_masked_form(unit: FunctionUnit, block: Block) -> bool:
    """Can some of a warp's lanes run the block on their own, in the forms of FAST?"""
    if block.barrier is not None or block.warp_sync is not None or needs_slow(unit, block):
        return False
    end = block.terminator
    if end is not None and end.op != "bra":
        return False
    return not _ends_threads(unit, block)


def _ends_threads(unit: FunctionUnit, block: Block) -> bool:
    """Where there are barriers, it is of interest after which block a thread has ended (barrier.cpp)."""
    blocks = unit.flow.blocks
    return any(b.barrier is not None for b in blocks) and any(blocks[s].exit_only for s in block.successors)


class Masked(Translator):
    """FAST's forms for some of the lanes: what is pending at each block of a region lies on the stack."""

    def __init__(self, unit: FunctionUnit, region: Region) -> None:
        super().__init__(unit, fast=True)
        self.region = region
        self.regions = find_regions(unit.flow.blocks, unit.forms)
        self.pending = {index: self.alloca(4) for index in (*region.blocks, region.join)}
        self.rounds_at = self.alloca(4)
        self.shares_checks = False  # sites were numbered when FAST was made

    def give_up(self) -> None:
        """At the start of a block that has had no effect yet: its lanes are still pending there."""
        self.branch("handover")

    def load32(self, pointer: str) -> str:
        return self.ins(f"load i32, ptr {pointer}")

    def send(self, target: int, lanes: str) -> None:
        """Lanes are to go on at a block."""
        pointer = self.pending[target]
        both = self.ins(f"or i32 {self.load32(pointer)}, {lanes}")
        self.do(f"store i32 {both}, ptr {pointer}")

    def go(self, block: Block, target: int) -> None:
        """Jump back, or on to the next block that may have lanes."""
        if target > block.index:
            self.branch(self.after(block.index))
            return
        rounds = self.load32(self.rounds_at)
        most = max(_STARVED - 2 * len(self.region.blocks), 1)
        self.do(
            f"br i1 {self.ins(f'icmp ugt i32 {rounds}, {most}')}, label %handover, label %M{target}, !prof !0"
        )

    def after(self, index: int) -> str:
        """Where to look for lanes after a block."""
        return next((f"M{i}" for i in self.region.blocks if i > index), "joined")


def region_function(unit: FunctionUnit, region: Region) -> tuple[str, Emitter]:
    """The region's function; its last parameter has the lanes that take the branch."""
    e = Masked(unit, region)
    blocks = unit.flow.blocks
    taken_to, fall_to = blocks[region.branch].successors
    for pointer in (*e.pending.values(), e.rounds_at):
        e.do(f"store i32 0, ptr {pointer}")
    e.send(taken_to, "%taken")
    e.send(fall_to, e.ins("xor i32 %taken, -1"))
    e.branch(f"M{min(s for s in (taken_to, fall_to) if s != region.join)}")
    for index in region.blocks:
        _masked_block(e, blocks[index])
    e.label("joined")
    e.do(f"ret i32 {abi.JOINED}")
    _hand_over(e)
    return function_text(f"{unit.prefix}_r{region.branch}", e, ("w", "frame", "taken")), e


def _masked_block(e: Masked, block: Block) -> None:
    e.mask, e.mask_bits = None, "-1"
    e.start_block()
    e.block_index = block.index
    e.label(f"M{block.index}")
    lanes = e.load32(e.pending[block.index])
    e.do(f"br i1 {e.ins(f'icmp eq i32 {lanes}, 0')}, label %{e.after(block.index)}, label %run{block.index}")
    e.label(f"run{block.index}")
    if not has_masked_form(e.unit, block):
        e.branch("handover")
        return
    e.mask, e.mask_bits = e.ins(f"bitcast i32 {lanes} to <32 x i1>"), lanes
    e.body(block)
    e.store_slots(block.live_out)
    e.count_execution(block)
    e.count_idle(block, lanes)
    e.do(f"store i32 {e.ins(f'add i32 {e.load32(e.rounds_at)}, 1')}, ptr {e.rounds_at}")
    e.tick(block)
    e.do(f"store i32 0, ptr {e.pending[block.index]}")
    _masked_end(e, block, lanes)


def _masked_end(e: Masked, block: Block, lanes: str) -> None:
    end = block.terminator
    if end is None or end.guard is None:
        target = block.successors[0]
        e.send(target, lanes)
        e.go(block, target)
        return
    taken_to, fall_to = block.successors
    p = e.predicate_bits(end)
    if p.flat and len(p.names) == 1:
        taken, fall = e.new_label("taken"), e.new_label("fall")
        e.do(f"br i1 {p.names[0]}, label %{taken}, label %{fall}")
        for label, target in ((taken, taken_to), (fall, fall_to)):
            e.label(label)
            e.send(target, lanes)
            e.go(block, target)
        return
    bits = e.ins(f"bitcast <32 x i1> {e.vector(p)} to i32")
    take = e.ins(f"and i32 {bits}, {lanes}")
    stay = e.ins(f"xor i32 {take}, {lanes}")
    e.send(taken_to, take)
    e.send(fall_to, stay)
    if may_part(block, e.unit.forms) and block.index not in e.regions:
        some, others = (e.ins(f"icmp ne i32 {x}, 0") for x in (take, stay))
        apart, on = e.ins(f"and i1 {some}, {others}"), e.new_label("on")
        e.do(f"br i1 {apart}, label %handover, label %{on}")
        e.label(on)
    for target, these in sorted([(taken_to, take), (fall_to, stay)]):
        if target <= block.index:
            back, on = e.new_label("back"), e.new_label("on")
            e.do(f"br i1 {e.ins(f'icmp ne i32 {these}, 0')}, label %{back}, label %{on}")
            e.label(back)
            e.go(block, target)
            e.label(on)
    e.branch(e.after(block.index))


def _hand_over(e: Masked) -> None:
    """Every lane to the block where it is pending."""
    e.label("handover")
    chosen = f"splat (i32 {e.region.join})"
    for index in e.region.blocks:
        here = e.ins(f"bitcast i32 {e.load32(e.pending[index])} to <32 x i1>")
        chosen = e.ins(f"select <32 x i1> {here}, <32 x i32> splat (i32 {index}), <32 x i32> {chosen}")
    pointer = e.ins(f"getelementptr inbounds i8, ptr %w, i64 {abi.LANE_NEXT}")
    e.do(f"store <32 x i32> {chosen}, ptr {pointer}, align 4")
    e.set_warp_field(abi.ROUNDS, "i32", e.load32(e.rounds_at))
    e.do(f"ret i32 {abi.SCATTER}")
