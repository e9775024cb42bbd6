"""From how often PTX blocks ran to how often machine instructions did, and how long one warp takes.

The sampled blocks give exact counts per PTX block. ptxas unrolls loops, predicates short branches and merges
accesses, so machine blocks are not PTX blocks: each machine instruction knows its PTX line, and a machine block
runs as often as the PTX blocks behind it, divided by the copies of them that it holds.

One warp's time through a machine block follows from the scheduling bits alone: an instruction issues when its
predecessor's stall count has passed and the scoreboards it waits for are released; memory operations release
theirs after the latency that the caches gave them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from evoengineer.sim.timing import opcodes
from evoengineer.sim.timing.sass import MachineCode, MachineInstr

# One machine instruction for each PTX instruction: their number tells how often a PTX block was copied.
_ANCHORS = frozenset({"shared", "global", "local", "exchange", "tensor", "barrier", "texture"})
_ARITHMETIC = frozenset({"fma", "half", "fp64", "sfu"})
_ENDS = frozenset(
    {opcodes.BRA, opcodes.EXIT, opcodes.RET, opcodes.BRX, 0x14A, 0x14C, 0x15B}
)  # and JMP, JMX, KILL
_READ_CLOCKS = 14  # until a memory instruction has read its operands
_MOST_OUTSTANDING = 64  # results per scoreboard
_TURNS = 3


@dataclass(slots=True)
class MachineBlock:
    """A run of instructions, and how often the sampled blocks ran it."""

    first: int
    last: int  # exclusive
    successors: list[int] = field(default_factory=list)
    executions: float = 0.0  # warp-level, over all samples
    most: float = 0.0  # of the busiest warp, summed over samples


def machine_blocks(code: MachineCode) -> list[MachineBlock]:
    """Basic blocks in the order of addresses; a barrier ends its block."""
    instrs = code.instrs
    starts = {0}
    for i, instr in enumerate(instrs):
        if instr.target >= 0 and instr.operation == opcodes.BRA:
            starts.add(instr.target)
        if instr.operation in _ENDS or instr.operation == opcodes.BAR:
            starts.add(i + 1)
    order = sorted(s for s in starts if s < len(instrs))
    number = {s: n for n, s in enumerate(order)}
    blocks = []
    for n, start in enumerate(order):
        end = order[n + 1] if n + 1 < len(order) else len(instrs)
        block = MachineBlock(start, end)
        final = instrs[end - 1]
        if final.operation == opcodes.BRA and final.target in number:
            block.successors.append(number[final.target])
        falls = final.operation not in _ENDS or final.guarded
        if (falls or final.operation == opcodes.BRX) and n + 1 < len(order):
            block.successors.append(n + 1)
        blocks.append(block)
    return blocks


def weigh(
    code: MachineCode,
    blocks: list[MachineBlock],
    block_of_line: dict[int, int],
    executions: Sequence[float],
    most: Sequence[float],
    samples: int,
    warps: int,
    halves: Sequence[int] = (),
) -> None:
    """Give each machine block its executions, from those of the PTX blocks (`block_of_line` finds them), which
    `samples` blocks of `warps` warps ran. `halves` are the instructions on single halves in each of these."""
    level, copies = _copies(code, blocks, block_of_line, halves)
    repeats = _repeating(code, blocks)
    hints: list[dict[int, list[tuple[float, float]]]] = [defaultdict(list) for _ in blocks]
    for line, places in copies.items():
        ptx = block_of_line[line]
        runs, top = executions[ptx], most[ptx]
        if runs > samples * warps and any(repeats[n] for n in places):  # the rest was taken out of the loop
            for n in places:
                if not repeats[n]:
                    hints[n][0].append((float(samples * warps), float(samples)))
            places = {n: count for n, count in places.items() if repeats[n]}
        # In several places: an unrolled loop, which holds most copies, and what is left over by it.
        main = max(places, key=lambda n: (places[n], n))
        if len(places) > 1 and runs < places[main] * samples * warps:
            main = min(places, key=lambda n: (places[n], n))
        same = [n for n, count in places.items() if count == places[main]]
        for n, count in places.items():
            share = 1 / len(same) if n in same else 0.0
            hints[n][level[line]].append((share * runs / count, share * top / count))
    weak = []
    for n, (block, hint) in enumerate(zip(blocks, hints, strict=True)):
        for strength in (2, 1, 0):
            if hint[strength]:
                ordered = sorted(hint[strength])
                block.executions, block.most = ordered[-1 if strength else len(ordered) // 2]
                if not strength:
                    weak.append(n)
                break
    for block, repeated in zip(blocks, repeats, strict=True):
        if not repeated:
            block.executions = min(block.executions, float(samples * warps))
            block.most = min(block.most, float(samples))
    _cap(blocks, weak)


def _repeating(code: MachineCode, blocks: list[MachineBlock]) -> list[bool]:
    """Which blocks a warp may run more than once: those in loops, and all of them if there are calls."""
    if any(instr.operation in (opcodes.CALL, opcodes.BRX) for instr in code.instrs):
        return [True] * len(blocks)
    found = [False] * len(blocks)
    for n, block in enumerate(blocks):
        for s in block.successors:
            if s <= n:  # ptxas keeps a loop's blocks together
                found[s : n + 1] = [True] * (n + 1 - s)
    return found


def _cap(blocks: list[MachineBlock], weak: list[int]) -> None:
    """A block that only sets up or leaves a loop bears the loop's lines, but runs as often as its way in allows."""
    before: dict[int, list[int]] = defaultdict(list)
    loops = []  # (header, last block), as ptxas keeps a loop's blocks together
    for n, block in enumerate(blocks):
        for s in block.successors:
            before[s].append(n)
            if s <= n:
                loops.append((s, n))

    def entries(loop: tuple[int, int]) -> tuple[float, float]:
        outside = [blocks[p] for p in before[loop[0]] if not loop[0] <= p <= loop[1]]
        return sum(b.executions for b in outside), sum(b.most for b in outside)

    for n in weak:
        if not before[n]:
            continue
        runs = most = 0.0
        for p in before[n]:
            left = [
                entries(loop) for loop in loops if loop[0] <= p <= loop[1] and not loop[0] <= n <= loop[1]
            ]
            runs += min([blocks[p].executions, *(way[0] for way in left)])
            most += min([blocks[p].most, *(way[1] for way in left)])
        blocks[n].executions = min(blocks[n].executions, runs)
        blocks[n].most = min(blocks[n].most, most)


def _copies(
    code: MachineCode,
    blocks: list[MachineBlock],
    block_of_line: dict[int, int],
    halves: Sequence[int],
) -> tuple[dict[int, int], dict[int, dict[int, int]]]:
    """How well each PTX line tells executions (2: one machine instruction each), and line → block → copies."""
    level: dict[int, int] = {}
    for instr in code.instrs:
        if instr.line in block_of_line:
            mine = 2 if instr.pipe in _ANCHORS else 1 if instr.pipe in _ARITHMETIC else 0
            level[instr.line] = max(level.get(instr.line, 0), mine)
    copies: dict[int, dict[int, int]] = defaultdict(dict)
    for n, block in enumerate(blocks):
        found: dict[int, Counter[int]] = defaultdict(Counter)
        for instr in code.instrs[block.first : block.last]:
            strength = 2 if instr.pipe in _ANCHORS else 1 if instr.pipe in _ARITHMETIC else 0
            if instr.line in level and strength == level[instr.line]:
                found[instr.line][instr.operation] += 1
        # What most lines of a PTX block say: ptxas may merge some of them, or need several instructions for one. A
        # division has several multiplications, say, but one reciprocal: the rarest operation tells the copies.
        votes: dict[int, Counter[int]] = defaultdict(Counter)
        doubtful: dict[int, Counter[int]] = defaultdict(Counter)
        packed = _packed(code.instrs[block.first : block.last], block_of_line, halves)
        for line, operations in found.items():
            ptx = block_of_line[line]
            count = min(*operations.values(), packed.get(ptx, len(code.instrs)))
            (votes if level[line] else doubtful)[ptx][count] += 1
        for line in found:
            ptx = block_of_line[line]
            if ptx in votes:
                copies[line][n] = max(votes[ptx], key=lambda c: (votes[ptx][c], c))
            else:
                copies[line][n] = max(doubtful[ptx], key=lambda c: (doubtful[ptx][c], -c))
    return level, copies


def _packed(
    instrs: Sequence[MachineInstr], block_of_line: dict[int, int], halves: Sequence[int]
) -> dict[int, int]:
    """PTX block → copies that there can be at most, where ptxas did single halves two at a time: it calls the line of
    one pair the line of many."""
    found = Counter(block_of_line[i.line] for i in instrs if i.pipe == "half" and i.line in block_of_line)
    return {ptx: max(-(-2 * n // halves[ptx]), 1) for ptx, n in found.items() if halves and halves[ptx] > 1}


LatencyOf = Callable[[MachineInstr], tuple[float, float]]  # until the first data comes, and while it comes


@dataclass(slots=True)
class _Scoreboards:
    """Clocks at which outstanding results arrive, per scoreboard, and copies to shared memory not yet in a group."""

    releases: list[list[float]]
    copies: float = 0.0
    filling: float = 0.0  # until when data that was asked for before comes in

    def wait(self, mask: int, now: float) -> float:
        for i in range(6):
            if mask >> i & 1 and self.releases[i]:
                now = max(now, *self.releases[i])
                self.releases[i] = []
        return now

    def wait_until(self, board: int, allowed: int, now: float) -> float:
        """Until no more than `allowed` results are outstanding."""
        if board >= 6 or len(self.releases[board]) <= allowed:
            return now
        order = sorted(self.releases[board])
        done = len(order) - allowed
        self.releases[board] = order[done:]
        return max(now, order[done - 1])

    def later(self, clocks: float) -> _Scoreboards:
        """The same, seen from a moment that many clocks later."""
        kept = [[r - clocks for r in board if r > clocks][-_MOST_OUTSTANDING:] for board in self.releases]
        return _Scoreboards(kept, max(self.copies - clocks, 0.0), max(self.filling - clocks, 0.0))


def pace(
    code: MachineCode, blocks: list[MachineBlock], latency_of: LatencyOf
) -> tuple[list[float], dict[int, float]]:
    """Clocks that one warp, alone, spends in each machine block, and the clocks it waits at each PTX line."""
    before = _usual_ways(blocks)
    after = [_Scoreboards([[] for _ in range(6)]) for _ in blocks]
    durations = [0.0] * len(blocks)
    waits: dict[int, float] = {}
    for turn in range(_TURNS):  # a loop's first turn does not yet know what its end leaves outstanding
        waits = defaultdict(float)
        for n, block in enumerate(blocks):
            if block.executions == 0 and turn:
                continue
            boards = after[before[n]].later(0.0) if n in before else _Scoreboards([[] for _ in range(6)])
            now = 0.0
            for instr in code.instrs[block.first : block.last]:
                ready = boards.wait(instr.waits, now)
                if instr.operation == opcodes.DEPBAR:
                    ready = boards.wait_until(instr.sets, instr.bytes, ready)
                waits[instr.line] += (ready - now) * block.executions
                now = ready
                _issue(instr, boards, now, latency_of)
                now += max(instr.stall, 1)
            durations[n] = now
            after[n] = boards.later(now)
    return durations, dict(waits)


def _usual_ways(blocks: list[MachineBlock]) -> dict[int, int]:
    """Block → the one that most warps come from: what that left outstanding is waited for.

    A way leads from a block to each that may follow; those that went the other way did not come along this one. So
    behind a test of bounds warps come from the code that it guards, not from the test.
    """
    found: dict[int, tuple[float, int]] = {}
    for n, block in enumerate(blocks):
        for s in block.successors:
            elsewhere = sum(blocks[other].executions for other in block.successors if other != s)
            found[s] = max(found.get(s, (0.0, -1)), (max(block.executions - elsewhere, 0.0), n))
    return {s: way for s, (_, way) in found.items()}


def _issue(instr: MachineInstr, boards: _Scoreboards, now: float, latency_of: LatencyOf) -> None:
    latency, fill = latency_of(instr)
    if fill:
        boards.filling = max(boards.filling, now + latency) + fill
        latency = boards.filling - now
    if instr.operation == opcodes.LDGSTS:
        boards.copies = max(boards.copies, now + latency)
    elif instr.operation == opcodes.LDGDEPBAR and instr.sets >= 0:
        boards.releases[instr.sets].append(max(boards.copies, now))
        return
    if instr.sets >= 0 and instr.operation != opcodes.DEPBAR:
        boards.releases[instr.sets].append(now + latency)
    if instr.reads >= 0:
        boards.releases[instr.reads].append(now + _READ_CLOCKS)


def phases(code: MachineCode, blocks: list[MachineBlock]) -> list[list[int]]:
    """Machine blocks by the stretch between barriers that they belong to."""
    parent = list(range(len(blocks)))

    def root(n: int) -> int:
        while parent[n] != n:
            parent[n] = parent[parent[n]]
            n = parent[n]
        return n

    for n, block in enumerate(blocks):
        if code.instrs[block.last - 1].operation != opcodes.BAR:
            for s in block.successors:
                parent[root(s)] = root(n)
    grouped: dict[int, list[int]] = defaultdict(list)
    for n in range(len(blocks)):
        grouped[root(n)].append(n)
    return list(grouped.values())
