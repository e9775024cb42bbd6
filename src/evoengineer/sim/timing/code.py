"""A kernel's code as the timing model needs it: PTX blocks and sites, and ptxas's machine code for them.

Made once per kernel image, without regard to any launch. If there is no machine code, `estimate_code` makes some
from the PTX, with the same fields, so that everything after it is the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable
from dataclasses import dataclass

from evoengineer.sim.codegen import abi
from evoengineer.sim.codegen.unit import FunctionUnit, Program
from evoengineer.sim.codegen.waiting import idle_blocks
from evoengineer.sim.ptx.flow import Block, destinations, sources
from evoengineer.sim.ptx.model import Instr
from evoengineer.sim.timing import opcodes
from evoengineer.sim.timing.arithmetic import multiply_adds, operations
from evoengineer.sim.timing.dependence import hangs_on_data
from evoengineer.sim.timing.sass import MachineCode, MachineInstr

BYPASS = AGGREGATED = 0x80  # of loads, and of atomics
FLOATS = 0x40  # of atomics
SWAPS = 0x20  # of atomics: compares and swaps; with AGGREGATED as the program says, else in a loop of the machine's
_ATOMIC_FLAGS = AGGREGATED | FLOATS | SWAPS
_MEMORY = ("shared", "global", "local")
_IMAGES = frozenset({"tex", "tld4", "suld", "sust"})
_FLOATS = frozenset({"f32", "f64", "f16", "f16x2", "bf16", "bf16x2"})
_BYPASSING = frozenset({"cg", "cv", "volatile", "acquire", "relaxed", "L1::no_allocate"})


@dataclass(frozen=True, slots=True)
class KernelCode:
    """PTX blocks and sites of a kernel with the machine code that ptxas made of them, joined by PTX lines."""

    machine: MachineCode
    estimated: bool  # made from PTX, as there is no machine code
    block_of_line: dict[int, int]  # PTX line → number of its PTX block among those of all functions
    site_of_line: dict[int, int]
    source_of_line: dict[int, tuple[str, int]]  # PTX line → source file and line
    count_bytes: bytes  # per site, for the runtime (abi.h)
    flops: tuple[dict[str, int], ...]  # per PTX block: type → operations per lane
    matrix: tuple[dict[str, int], ...]  # per PTX block: type → multiply-adds per warp
    instructions: tuple[int, ...]  # per PTX block
    halves: tuple[int, ...]  # per PTX block: those on single halves, of which ptxas may do two at a time
    block_of_site: dict[int, int]  # site → number of its PTX block
    atomic_sites: frozenset[int]
    image_sites: frozenset[int]  # textures and surfaces
    idling: dict[int, frozenset[int]]  # PTX block of a loop that only waits → blocks from which it is entered
    by_data: bool  # may other data in the same place send it another way?

    def _entry(self, site: int) -> int:
        """0 for the sites that the runtime has of its own."""
        return self.count_bytes[site] if site < len(self.count_bytes) else 0

    def bypasses(self, site: int) -> bool:
        """Does a site load past L1?"""
        return site not in self.atomic_sites and bool(self._entry(site) & BYPASS)

    def retried(self, site: int) -> bool:
        """Is a site's atomic a loop of the machine's?"""
        return self.swaps(site) and not self._entry(site) & AGGREGATED

    def swaps(self, site: int) -> bool:
        """Does it compare and swap, in whatever loop?"""
        return site in self.atomic_sites and bool(self._entry(site) & SWAPS)

    def width(self, site: int) -> int:
        """Bytes per lane of a site, as ptxas has it."""
        return self._entry(site) & ~(_ATOMIC_FLAGS if site in self.atomic_sites else BYPASS)


def kernel_code(program: Program, machine: MachineCode | None, functions: frozenset[str]) -> KernelCode:
    """`functions` are those of the kernel's own PTX text: lines of other texts mean something else."""
    block_of_line: dict[int, int] = {}
    site_of_line: dict[int, int] = {}
    source_of_line: dict[int, tuple[str, int]] = {}
    flops: list[dict[str, int]] = []
    matrix: list[dict[str, int]] = []
    counts: list[int] = []
    halves: list[int] = []
    memory: list[tuple[Instr, int, int]] = []  # instruction, site, PTX block
    idling = _idling(program)
    for unit, number, block in _blocks(program):
        tally: dict[str, int] = defaultdict(int)
        products: dict[str, int] = defaultdict(int)
        for instr in ([block.barrier] if block.barrier else []) + block.instrs:
            if instr.line and unit.function.name in functions:
                block_of_line[instr.line] = number
                file = unit.function.files.get(instr.location[0], "")
                source_of_line[instr.line] = (file, instr.location[1])
            kind, each = operations(instr)
            if each:
                tally[kind] += each
            kind, each = multiply_adds(instr)
            if each:
                products[kind] += each
            site = unit.sites.get(id(instr))
            if site is not None and (program.sites[site].access != abi.NO_ACCESS or instr.op in _IMAGES):
                if unit.function.name in functions:
                    site_of_line[instr.line] = site
                memory.append((instr, site, number))
        flops.append(dict(tally))
        matrix.append(dict(products))
        counts.append(len(block.instrs))
        halves.append(sum(operations(instr)[0] in ("f16", "bf16") for instr in block.instrs))
    code = machine or estimate_code(program)
    atomics = frozenset(s for _, s, _ in memory if program.sites[s].access == abi.ATOMIC)
    images = frozenset(s for instr, s, _ in memory if instr.op in _IMAGES)
    widths = _widths(program, memory, code if machine else None, idling)
    return KernelCode(
        code, machine is None, block_of_line, site_of_line, source_of_line, widths, tuple(flops), tuple(matrix),
        tuple(counts), tuple(halves), {s: number for _, s, number in memory}, atomics, images,
        idling, hangs_on_data(program),
    )  # fmt: skip


def _blocks(program: Program) -> Iterable[tuple[FunctionUnit, int, Block]]:
    number = 0
    for unit in program.units:
        for block in unit.flow.blocks:
            yield unit, number, block
            number += 1


def _idling(program: Program) -> dict[int, frozenset[int]]:
    found, first = {}, 0
    for unit in program.units:
        for block, entries in idle_blocks(unit.flow).items():
            found[first + block] = frozenset(first + each for each in entries)
        first += len(unit.flow.blocks)
    return found


def _widths(
    program: Program,
    memory: list[tuple[Instr, int, int]],
    code: MachineCode | None,
    idling: Container[int],
) -> bytes:
    """Bytes per lane of each site as ptxas has it: loads of neighbours may have become one wide load. Nothing where
    threads only wait: how often they look says nothing of the kernel."""
    widths = bytearray(len(program.sites))
    machine: dict[int, int] = defaultdict(int)
    for each in code.instrs if code else ():
        if each.pipe in _MEMORY:
            machine[each.line] = max(machine[each.line], each.bytes)
    one_for_all = _one_for_all(memory, code) if code else frozenset()
    swapping = _swapping(code) if code else frozenset()
    widened = {
        (number, program.sites[site].space)
        for instr, site, number in memory
        if machine.get(instr.line, 0) > program.sites[site].bytes and instr.op in ("ld", "st")
    }
    for instr, site, number in memory:
        info = program.sites[site]
        width = min(info.bytes, 64)
        if number in idling:
            continue
        if instr.op in ("ld", "st", "ldu") and code is not None:
            if instr.line in machine:
                width = max(width, min(machine[instr.line], 16))
            elif (number, info.space) in widened:
                width = 0
        if width and instr.op in ("ld", "ldu", "cp") and _BYPASSING & set(instr.mods):
            width |= BYPASS
        elif instr.op in ("atom", "red"):
            width |= AGGREGATED if instr.line in one_for_all else 0
            width |= FLOATS if _FLOATS & set(instr.mods) else 0
            if "cas" in instr.mods:
                width |= SWAPS | AGGREGATED
            elif instr.line in swapping:
                width |= SWAPS
        widths[site] = width
    return bytes(widths)


def _swapping(code: MachineCode) -> frozenset[int]:
    """Lines of atomics that the machine does by comparing and swapping. Where an address may lie in either memory,
    there is code for both, and what it does in global memory counts."""
    elsewhere = {each.line for each in code.instrs if each.operation in opcodes.GLOBAL_ATOMICS}
    shared = {each.line for each in code.instrs if each.operation in opcodes.SHARED_CAS}
    return frozenset(
        {each.line for each in code.instrs if each.operation in opcodes.GLOBAL_CAS} | (shared - elsewhere)
    )


def _one_for_all(memory: list[tuple[Instr, int, int]], code: MachineCode) -> frozenset[int]:
    """Lines of atomics where all lanes have one address: ptxas lets one lane, found by a vote, do it for all.

    Atomics of one block may share the vote; then only their new guards tell.
    """
    voted = {each.line for each in code.instrs if each.operation in opcodes.VOTES}
    guarded = {each.line for each in code.instrs if each.pipe in _MEMORY and each.guarded}
    atomics = [(instr, number) for instr, _, number in memory if instr.op in ("atom", "red")]
    blocks = {number for instr, number in atomics if instr.line in voted}
    return frozenset(
        instr.line
        for instr, number in atomics
        if instr.line in voted or (number in blocks and instr.line in guarded and instr.guard is None)
    )


# -- without ptxas ---------------------------------------------------------------------------------------

_FREE = frozenset({"mov", "cvta", "ld.param"})
_PIPE_BY_OP = {
    "bar": "barrier", "barrier": "barrier", "shfl": "exchange", "vote": "alu", "match": "exchange", "redux": "exchange",
    "mma": "tensor", "wmma": "tensor", "bra": "control", "ret": "control", "exit": "control", "call": "control",
    "brx": "control", "ex2": "sfu", "lg2": "sfu", "sin": "sfu", "cos": "sfu", "tanh": "sfu", "rcp": "sfu",
    "rsqrt": "sfu", "sqrt": "sfu", "div": "sfu", "popc": "sfu", "clz": "sfu", "ldmatrix": "shared",
    "stmatrix": "shared", "tex": "texture", "tld4": "texture", "membar": "control", "fence": "control",
}  # fmt: skip
_OPERATION = {"barrier": opcodes.BAR, "shared": opcodes.LDS, "global": opcodes.LDG, "local": opcodes.LDL,
              "exchange": 0x189, "tensor": 0x03C, "fma": 0x023, "alu": 0x010, "imad": 0x024, "half": 0x031,
              "fp64": 0x02B, "sfu": 0x108, "texture": 0x160}  # fmt: skip
_CLOCKS = {"fma": 4, "alu": 4, "imad": 5, "half": 5, "tensor": 18, "barrier": 6}


def estimate_code(program: Program) -> MachineCode:
    """Machine code guessed from PTX: most instructions one to one, moves and conversions of addresses for free.

    Loads come first in their block, as ptxas arranges them; a consumer waits for its producers.
    """
    instrs: list[MachineInstr] = []
    starts: dict[int, int] = {}
    jumps: list[tuple[int, int]] = []
    first_of_unit = 0
    for unit in program.units:
        for block in unit.flow.blocks:
            starts[first_of_unit + block.index] = len(instrs)
            _estimate_block(block.barrier, block.instrs, instrs)
            end = block.terminator
            if end is not None and end.op == "bra" and instrs and instrs[-1].operation == opcodes.BRA:
                jumps.append((len(instrs) - 1, first_of_unit + block.successors[0]))
        first_of_unit += len(unit.flow.blocks)
    for at, target in jumps:
        old = instrs[at]
        instrs[at] = MachineInstr(
            old.operation, old.pipe, old.stall, -1, -1, old.waits, old.line, 0, old.guarded, starts[target]
        )
    return MachineCode(tuple(instrs))


def _estimate_block(barrier: Instr | None, body: list[Instr], out: list[MachineInstr]) -> None:
    board: dict[str, int] = {}  # register → scoreboard of the load that fills it
    fixed: dict[str, int] = {}  # register → clock at which it is ready
    next_board = now = 0
    for instr in ([barrier] if barrier else []) + body:
        if instr.op in _FREE or instr.name.startswith("ld.param") or _address_cast(instr):
            for target in destinations(instr):
                for source in sources(instr):
                    if source in board:
                        board[target] = board[source]
            continue
        pipe = _pipe(instr)
        waits = 0
        ready = now
        for source in sources(instr):
            if source in board:
                waits |= 1 << board[source]
            ready = max(ready, fixed.get(source, 0))
        for name in [n for n, b in board.items() if waits >> b & 1]:
            del board[name]
        sets = -1
        if pipe in ("shared", "global", "local", "exchange", "sfu", "fp64", "texture") and destinations(
            instr
        ):
            sets = next_board
            next_board = (next_board + 1) % 6
        for target in destinations(instr):
            if sets >= 0:
                board[target] = sets
            else:
                board.pop(target, None)
                fixed[target] = ready + _CLOCKS.get(pipe, 4)
        operation = _OPERATION.get(pipe, 0x010)
        if instr.op == "bra":
            operation = opcodes.BRA
        elif instr.op in ("ret", "exit"):
            operation = opcodes.EXIT
        if pipe in _MEMORY and instr.op in ("st", "red"):
            operation = {"shared": opcodes.STS, "global": opcodes.STG, "local": opcodes.STL}[pipe]
        stall = max(1, ready - now + 1)
        now = ready + 1
        out.append(
            MachineInstr(
                operation, pipe, min(stall, 15), sets, -1, waits, instr.line, 0, instr.guard is not None, -1
            )
        )


def _address_cast(instr: Instr) -> bool:
    return instr.op == "cvt" and bool({"u64", "s64"} & set(instr.mods)) and "f64" not in instr.mods


def _pipe(instr: Instr) -> str:
    if instr.op in _PIPE_BY_OP:
        return _PIPE_BY_OP[instr.op]
    mods = set(instr.mods)
    if instr.op in ("ld", "st", "ldu", "atom", "red", "cp"):
        if "local" in mods:
            return "local"
        return "shared" if any(m.startswith("shared") for m in mods) and instr.op != "cp" else "global"
    if "f64" in mods:
        return "fp64"
    if mods & {"f16", "bf16", "f16x2", "bf16x2"} and instr.op in ("fma", "add", "mul", "sub"):
        return "half"
    if "f32" in mods and instr.op in ("fma", "mad", "add", "mul", "sub"):
        return "fma"
    if instr.op == "cvt":
        return "sfu" if mods & {"f32", "f16", "f64"} else "alu"
    return "imad" if instr.op in ("mad", "mul", "mul24", "mad24") else "alu"
