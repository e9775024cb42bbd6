"""A function's control flow: basic blocks, successors, live registers, reachability.

Blocks are numbered in the order in which PTX lists them, which nvcc lays out so that a join comes after
the branches that lead to it; the dispatcher relies on that to bring lanes together again.

Besides branches and labels, a block starts at
- an instruction that waits for other lanes (shfl.sync, vote.sync, mma …), so that lanes can be parked
  before it;
- a barrier, which is the *head* of its block: the dispatcher performs it, then runs the block;
- a call sequence, so that the part that has no fast form is short.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from evoengineer.errors import PtxError
from evoengineer.sim.ptx.body import SPECIAL
from evoengineer.sim.ptx.model import Addr, Body, Imm, Instr, Not, Operand, Pair, Reg, Sym, Vec

_ENDS = {"bra", "ret", "exit", "trap", "brx"}
_SYNC_OPS = {"shfl", "vote", "match", "redux", "mma", "wmma", "ldmatrix", "stmatrix", "movmatrix", "elect"}
_NO_DESTINATION = {
    "st", "red", "bar", "barrier", "membar", "fence", "bra", "ret", "exit", "trap", "brx", "call", "prefetch",
    "prefetchu", "nanosleep", "sust", "discard", "applypriority", "brkpt", "pmevent", "griddepcontrol", "stmatrix",
    "setmaxnreg", "cp", "sured",
}  # fmt: skip


@lru_cache(maxsize=1 << 16)
def is_special(name: str) -> bool:
    """Special registers are read where they are used; the sink `_` is no register at all."""
    return name in ("_", "WARP_SZ") or bool(SPECIAL.match(name))


def is_barrier(instr: Instr) -> bool:
    """`bar.sync`, `barrier.red` …, but not `bar.warp.sync`."""
    return instr.op in ("bar", "barrier") and "warp" not in instr.mods and "cluster" not in instr.mods


def is_warp_sync(instr: Instr) -> bool:
    """Does the instruction wait for the other lanes of a member mask?"""
    if instr.op in ("bar", "barrier"):
        return "warp" in instr.mods
    if instr.op in ("vote", "shfl"):
        return "sync" in instr.mods
    return instr.op in _SYNC_OPS


@dataclass(slots=True, eq=False)
class Block:
    """Instructions that run together. `barrier` is the barrier at its head, if any."""

    index: int
    instrs: list[Instr]
    barrier: Instr | None = None
    successors: list[int] = field(default_factory=list)  # branch target first, then fall through
    uses: set[str] = field(default_factory=set)  # read before written
    defs: set[str] = field(default_factory=set)  # surely written
    live_in: set[str] = field(default_factory=set)
    live_out: set[str] = field(default_factory=set)

    @property
    def terminator(self) -> Instr | None:
        """The instruction that ends the block, if it does not just run into the next."""
        return self.instrs[-1] if self.instrs and self.instrs[-1].op in _ENDS else None

    @property
    def warp_sync(self) -> Instr | None:
        """The instruction at which lanes wait for each other before the block, if there is one."""
        return self.instrs[0] if self.instrs and is_warp_sync(self.instrs[0]) else None

    @property
    def exit_only(self) -> bool:
        instrs = self.instrs
        return (
            self.barrier is None
            and len(instrs) == 1
            and instrs[0].op in ("ret", "exit")
            and instrs[0].guard is None
        )


@dataclass(slots=True, eq=False)
class Flow:
    """The blocks of a function."""

    body: Body
    blocks: list[Block]
    headers: set[int]  # targets of back edges
    label_block: dict[str, int]

    @property
    def slots(self) -> set[str]:
        """Registers that live across blocks."""
        return set().union(*(b.live_in for b in self.blocks)) if self.blocks else set()


def build_flow(body: Body, extra_splits: frozenset[int] = frozenset()) -> Flow:
    """Cut a body into blocks; `extra_splits` are further instruction indices that start a block."""
    instrs = body.instrs
    if not instrs or (instrs[-1].op not in _ENDS or instrs[-1].guard is not None):
        instrs = [*instrs, Instr("ret", (), (), None, False, (0, 0), "ret")]
    starts = {0} | set(extra_splits) | {s for s in body.splits if s < len(instrs)}
    starts |= {i for i in body.labels.values() if i < len(instrs)}
    for i, instr in enumerate(instrs):
        if instr.op in _ENDS and i + 1 < len(instrs):
            starts.add(i + 1)
        if is_barrier(instr) or is_warp_sync(instr) or instr.op == "brx":
            starts.add(i)
    order = sorted(starts)
    number = {start: n for n, start in enumerate(order)}
    blocks = []
    for n, start in enumerate(order):
        end = order[n + 1] if n + 1 < len(order) else len(instrs)
        inside = instrs[start:end]
        barrier = inside.pop(0) if is_barrier(inside[0]) else None
        blocks.append(Block(n, inside, barrier))
    labels = {name: number[i] for name, i in body.labels.items() if i in number}
    for block in blocks:
        block.successors = _successors(block, labels, body, len(blocks))
        _local_uses(block)
    headers = {s for b in blocks for s in b.successors if s <= b.index}
    _liveness(blocks)
    return Flow(body, blocks, headers, labels)


def _successors(block: Block, labels: dict[str, int], body: Body, count: int) -> list[int]:
    end = block.terminator
    after = [block.index + 1] if block.index + 1 < count else []
    if end is None:
        return after
    if end.op == "bra":
        name = end.args[0].name  # type: ignore[union-attr]
        if name not in labels:
            raise PtxError(f"branch to unknown label {name!r}")
        target = [labels[name]]
    elif end.op == "brx":
        table = end.args[1].name  # type: ignore[union-attr]
        target = [labels[name] for name in body.branch_targets[table]]
    else:
        target = []
    return target + after if end.guard is not None else target


def destinations(instr: Instr) -> tuple[str, ...]:
    """Registers that the instruction writes."""
    if instr.written is None:
        instr.written = tuple(_destinations(instr))
    return instr.written


def sources(instr: Instr) -> tuple[str, ...]:
    """Registers that the instruction reads (guard included)."""
    if instr.read is None:
        instr.read = tuple(_sources(instr))
    return instr.read


def _destinations(instr: Instr) -> list[str]:
    if instr.op in _NO_DESTINATION or not instr.args:
        if instr.op in ("bar", "barrier") and "red" in instr.mods:
            return operand_names(instr.args[0])
        return []
    if instr.op == "wmma" and "store" in instr.mods:
        return []
    if instr.op == "mbarrier" and not (
        "arrive" in instr.mods or "wait" in instr.name or "pending" in instr.name
    ):
        return []
    if instr.op == "mbarrier" and "arrive" in instr.mods and not isinstance(instr.args[0], Reg):
        return []
    if isinstance(instr.args[0], Addr):
        return []
    return [n for n in operand_names(instr.args[0]) if n != "_"]


def _sources(instr: Instr) -> list[str]:
    found: list[str] = [instr.guard.name] if instr.guard is not None else []
    skip = 1 if destinations(instr) or (instr.args and instr.args[0] == Reg("_")) else 0
    for arg in instr.args[skip:]:
        found += operand_names(arg)
    return found


def operand_names(operand: Operand) -> list[str]:
    """Registers that an operand mentions, special ones left out."""
    match operand:
        case Reg(name):
            return [] if is_special(name) else [name]
        case Not(reg):
            return [reg.name]
        case Pair(first, second):
            return operand_names(first) + operand_names(second)
        case Vec(items):
            return [n for item in items for n in operand_names(item)]
        case Addr(base, _):
            return [base.name] if isinstance(base, Reg) else []
        case Imm() | Sym():
            return []
    raise PtxError(f"unknown operand {operand!r}")


def _local_uses(block: Block) -> None:
    head = [block.barrier] if block.barrier else []
    for instr in head + block.instrs:
        for name in sources(instr):
            if name not in block.defs:
                block.uses.add(name)
        for name in destinations(instr):
            if instr.guard is not None and name not in block.defs:
                block.uses.add(name)  # keeps its old value where the guard is false
            else:
                block.defs.add(name)


def _liveness(blocks: list[Block]) -> None:
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            out: set[str] = set()
            for s in block.successors:
                out |= blocks[s].live_in
            live = block.uses | (out - block.defs)
            if len(live) != len(block.live_in) or len(out) != len(block.live_out):
                block.live_in, block.live_out = live, out
                changed = True


def reachability(blocks: list[Block]) -> list[int]:
    """Bit j of row i: block j can be reached from block i by one or more edges."""
    rows = [0] * len(blocks)
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            row = 0
            for s in block.successors:
                row |= (1 << s) | rows[s]
            if row != rows[block.index]:
                rows[block.index] = row
                changed = True
    return rows


def outside_loops(blocks: list[Block]) -> frozenset[int]:
    """Blocks that a thread runs at most once."""
    rows = reachability(blocks)
    return frozenset(block.index for block in blocks if not rows[block.index] >> block.index & 1)
