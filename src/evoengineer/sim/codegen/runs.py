"""Runs of plain arithmetic: done from a table, or by machine code that is written here, not by LLVM.

A register tile that nvcc has unrolled is hundreds of multiply-adds on registers which do not fit into the processor's.
Translated one by one they take most of the time that LLVM needs, and then run from memory all the same. So the values
of a run lie in a file of vectors on the stack. In SLOW code the runtime goes through a table of operations
(runtime/runs.cpp). FAST code runs most of what is run: there each run becomes a function in machine code
(assembler.py), and values that live across blocks stay where they lie in the frame, their *homes*.

Where undefined bits are followed (undefined.py), those of the values of a run lie in the same file, and each operation
is followed by one on them.

An operation waits until somebody needs its result, or is about to change what it reads: loads that nvcc has put in
between come first, and the run grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evoengineer.sim.codegen import jit
from evoengineer.sim.codegen.assembler import FILE, FRAME, Operation, assemble, place
from evoengineer.sim.codegen.forms import widens
from evoengineer.sim.ptx.flow import Block, destinations, sources
from evoengineer.sim.ptx.model import Imm, Instr, Operand, Reg

if TYPE_CHECKING:
    from evoengineer.sim.codegen.translate import Translator
    from evoengineer.sim.codegen.undefined import Undefined

LEAST = 12  # operations that are worth a run
_LEAST_IN_BLOCK = 64  # that are worth values in memory
VECTOR_BYTES = 128
_MOST_VECTORS = 96  # of a file, about: the processor's nearest cache has to hold them
_NUMBERED = 512  # vectors: more than that a word cannot name
_MOST_WAITING = 192  # of a table
_CODES = {"fma": 0, "add": 1, "sub": 2, "mul": 3}  # Operation in runs.cpp
_UNDEFINED = 4  # the same: all of the result is undefined if any bit of an operand is
_PLAIN = frozenset({"rn", "f32", "ftz"})


class TooManyVectors(Exception):
    """The block has more values at a time than the file can hold."""


class Runs:
    """The operations of a block that wait, and where values lie that come from runs."""

    def __init__(self, e: Translator, block: Block) -> None:
        self._e = e
        self.waiting: list[tuple[int, Instr]] = []  # with their positions in the block
        self._reads: set[str] = set()
        self._writes: set[str] = set()
        # Register, or constant, → vector of the file that has its present value; of a home, its offset inverted.
        self.places: dict[str, int] = {}
        self._group_of: dict[int, tuple[int, int]] = {}  # vector → first of its group and the group's size
        self._taken: dict[int, int] = {}  # first of a group → how many of it are in use
        self._free: dict[int, list[int]] = {}  # size → groups
        self._used = 0
        self._position = -1  # of the instruction that is being looked at
        self._ends: list[set[str]] = []  # position → registers that nobody reads after it
        self._over: set[str] = set()  # of those, what the operations that wait still read
        self.undefined: set[str] = (
            set()
        )  # registers whose undefined bits lie in the file, as results of a run
        self._filled: dict[
            str, Undefined
        ] = {}  # register → of what its undefined bits in the file are a copy
        self.active = has_runs(e, block)  # does the block keep values in the file at all?
        self._fast = e.fast
        # Where FAST may give up, it does so before it has changed anything.
        self._homes = e.fast and not any(map(widens, block.instrs))
        if self.active:
            self._ends = _ends(block)

    def take(self, instr: Instr) -> bool:
        """Before each instruction: has it joined those that wait? If not, the ones that it depends on are done."""
        self._position += 1
        if self.active and is_plain(self._e, instr):
            kept = len(self.places) // (2 if self._e.defined is not None else 1)
            many = kept > _MOST_VECTORS or (not self._fast and len(self.waiting) >= _MOST_WAITING)
            if many and len(self.waiting) >= _LEAST_IN_BLOCK:
                self.flush()
            self.waiting.append((self._position, instr))
            self._reads.update(sources(instr))
            self._writes.update(destinations(instr))
            return True
        touched = destinations(instr)
        if self.waiting and (
            not self._writes.isdisjoint(sources(instr))
            or not self._reads.isdisjoint(touched)
            or not self._writes.isdisjoint(touched)
        ):
            self.flush()
        if self.active:
            self._over |= self._ends[self._position]
        return False

    def flush(self) -> None:
        """Do what waits."""
        waiting, self.waiting = self.waiting, []
        self._reads, self._writes = set(), set()
        if len(waiting) < LEAST:
            for position, instr in waiting:
                self._e.instruction(instr)
                self._over |= self._ends[position]
            self._drop()
            return
        self._provide([instr for _, instr in waiting])
        if self._fast:
            self._run_machine(waiting)
        else:
            self._run_table(waiting)
        for name in {name for _, instr in waiting for name in destinations(instr)}:
            self._e.env.pop(name, None)
            self._e.written.add(name)
            self._over.discard(name)  # that was its value before
            self._settle_undefined(name)
        self._drop()

    def _run_table(self, waiting: list[tuple[int, Instr]]) -> None:
        followed = self._provide_undefined([instr for _, instr in waiting])
        words = []
        for (position, instr), names in zip(waiting, followed, strict=True):
            to, given = self._places_of(position, instr)
            words.append(_word(_CODES[instr.op], [to, *given]))
            words += self._on_undefined(position, instr, names)
        self._e.run_table(words)

    def _run_machine(self, waiting: list[tuple[int, Instr]]) -> None:
        operations = []
        for position, instr in waiting:
            to, given = self._places_of(position, instr)
            operations.append(Operation(instr.op, _in_memory(to), tuple(map(_in_memory, given))))
        self._e.run_machine(operations, {_in_memory(each) for each in self.places.values()})

    def _drop(self) -> None:
        """Nothing waits: forget what nobody reads any more."""
        for name in tuple(self._over):
            self.forget(name)
            self._forget_undefined(name)

    def _provide(self, waiting: list[Instr]) -> None:
        """Put into the file what the run reads and does not compute itself, before it begins."""
        computed: set[str] = set()
        fetched: list[int] = []
        for instr in waiting:
            for operand in instr.args[1:]:
                name = _name(operand)
                if name in self.places or name in computed:
                    continue
                frame = self._e.frame_vector(name)
                if frame is not None and self._fast:
                    self.places[name] = ~frame
                    continue
                value = "" if frame is not None else self._e.vector(self._e.read(operand, 32))
                self.places[name] = place = self._take_places(1)
                if frame is not None:
                    fetched += [place * VECTOR_BYTES, frame]
                else:
                    self._e.fill_vector(place, value)
            computed.update(destinations(instr))
        if fetched:
            self._e.move_vectors("%file", "%frame", fetched)

    def _provide_undefined(self, waiting: list[Instr]) -> list[list[str]]:
        """The same for undefined bits; for each operation, those of its operands that may have any."""
        if self._e.defined is None:
            return [[] for _ in waiting]
        known = self._e.defined.known
        has: dict[str, bool] = {}
        followed = []
        for instr in waiting:
            for name in sources(instr):
                if name not in has:
                    has[name] = self._has_undefined(name, known)
            followed.append([name for name in dict.fromkeys(sources(instr)) if has[name]])
            has.update(dict.fromkeys(destinations(instr), bool(followed[-1])))
        return followed

    def _has_undefined(self, name: str, known: dict[str, Undefined | None]) -> bool:
        """May a register that the run does not compute itself have undefined bits? Then they are put into the file."""
        assert self._e.defined is not None
        if name in self.undefined and name not in known:
            return True
        found = self._e.defined.of_register(name)
        if found is None:
            return False
        place = self.places.get(_shadow(name))
        if place is None or self._filled.get(name) is not found:
            if place is None:
                self.places[_shadow(name)] = place = self._take_places(1)
            self._e.fill_vector(place, found.name)
            self._filled[name] = found
        return True

    def _on_undefined(self, position: int, instr: Instr, names: list[str]) -> list[int]:
        """The word for the operation on undefined bits, if there can be any."""
        to = _shadow(_name(instr.args[0]))
        given = [self.places[_shadow(name)] for name in names]
        for name in sources(instr):
            if name in self._ends[position] and _shadow(name) != to:
                self._forget_undefined(name)
        if not given:
            self.forget(to)
            return []
        if to not in self.places:
            self.places[to] = self._take_places(1)
        return [_word(_UNDEFINED, [self.places[to], *(given * 3)[:3]])]

    def _settle_undefined(self, name: str) -> None:
        """A run has just computed the register: what is in the file counts."""
        if self._e.defined is None:
            return
        if _shadow(name) in self.places:
            self._e.defined.known.pop(name, None)
            self.undefined.add(name)
        else:
            self._e.defined.known[name] = None
            self.undefined.discard(name)

    def _forget_undefined(self, name: str) -> None:
        self.forget(_shadow(name))
        self.undefined.discard(name)

    def forget(self, name: str) -> None:
        """The register gets another value, or nobody needs it any more."""
        self._over.discard(name)
        place = self.places.pop(name, None)
        if place is not None and place >= 0:
            first, size = self._group_of[place]
            self._taken[first] -= 1
            if not self._taken[first]:
                self._free[size].append(first)

    def undefined_place(self, name: str) -> int | None:
        """The vector with a register's undefined bits, if they are what a run has left."""
        return self.places[_shadow(name)] if name in self.undefined else None

    def receive(self, names: list[str]) -> int:
        """Vectors of the file, one after the other, for the values that these registers get now; the first."""
        for name in names:
            self.forget(name)
            self._e.env.pop(name, None)
            self._e.written.add(name)
        first = self._take_places(len(names))
        self.places.update({name: first + i for i, name in enumerate(names)})
        return first

    def receive_undefined(self, names: list[str]) -> int:
        """The same for their undefined bits."""
        for name in names:
            self._forget_undefined(name)
        first = self._take_places(len(names))
        self.places.update({_shadow(name): first + i for i, name in enumerate(names)})
        self.undefined.update(names)
        return first

    def _places_of(self, position: int, instr: Instr) -> tuple[int, list[int]]:
        """Of an operation's result and operands; what it is the last to read makes room for its result."""
        to = _name(instr.args[0])
        given = [self.places[_name(operand)] for operand in instr.args[1:]]
        for name in {_name(operand) for operand in instr.args[1:]}:
            if name in self._ends[position] and name != to:
                self.forget(name)
        home = self._e.home(to) if self._homes else None
        if home is not None:
            self.forget(to)
            self.places[to] = ~home
        elif to not in self.places or self.places[to] < 0:
            self.places[to] = self._take_places(1)
        return self.places[to], given

    def _take_places(self, size: int) -> int:
        free = self._free.setdefault(size, [])
        if free:
            first = free.pop()
        else:
            first = self._used
            self._used += size
            if self._used > _NUMBERED and not self._fast:
                raise TooManyVectors
            self._e.file_vectors = max(self._e.file_vectors, self._used)
            self._group_of.update({first + i: (first, size) for i in range(size)})
        self._taken[first] = size
        return first


def _ends(block: Block) -> list[set[str]]:
    """For each instruction, the registers whose value is read there for the last time."""
    live = set(block.live_out)
    ends: list[set[str]] = [set() for _ in block.instrs]
    for position in reversed(range(len(block.instrs))):
        instr = block.instrs[position]
        if instr.guard is None:
            live.difference_update(destinations(instr))
        read = set(sources(instr))
        ends[position] = read - live
        live |= read
    return ends


def _word(code: int, places: list[int]) -> int:
    """Of the table: what to do, where the result goes and where the operands are."""
    return code | sum(place * VECTOR_BYTES << 16 * number for number, place in enumerate(places))


def _shadow(name: str) -> str:
    """The name under which a register's undefined bits have a place."""
    return f"~{name}"


def _name(operand: Operand) -> str:
    """Of a register, or of a constant as if it were one."""
    return operand.name if isinstance(operand, Reg) else f"={getattr(operand, 'value', 0)}"


def _in_memory(vector: int) -> int:
    """A vector of the file, or a home, as the assembler names it."""
    return place(FRAME, ~vector) if vector < 0 else place(FILE, vector * VECTOR_BYTES)


def is_plain(e: Translator, instr: Instr) -> bool:
    """Is it arithmetic on vectors of floats that rounds to nearest and does nothing else? In FAST copies are, too."""
    if instr.guard is not None or not instr.mods or instr.mods[-1] != "f32":
        return False
    if instr.op in _CODES:
        if not _PLAIN.issuperset(instr.mods) or ("ftz" in instr.mods) != e.unit.program.flush_denormals:
            return False
    elif instr.op != "mov" or not e.fast or not isinstance(instr.args[1], Reg):
        return False
    if e.fast and isinstance(instr.args[0], Reg) and e.unit.forms.get(instr.args[0].name) is not None:
        return False  # one scalar for all lanes
    to = instr.args[0]
    if not isinstance(to, Reg) or to.name == "_" or e.register_bits(to.name) != 32:
        return False
    return all(
        (isinstance(arg, Reg) and arg.name in e.unit.body.registers and e.register_bits(arg.name) == 32)
        or (isinstance(arg, Imm) and arg.float_bits != 64)
        for arg in instr.args[1:]
    )


def has_runs(e: Translator, block: Block) -> bool:
    """Are there so many such operations that they are better done so?"""
    if not e.tables or (e.fast and (e.mask is not None or jit.processor() is None)):
        return False
    return sum(instr.op in _CODES and is_plain(e, instr) for instr in block.instrs) >= _LEAST_IN_BLOCK


def machine_code(name: str, operations: Sequence[Operation], wanted: set[int]) -> str:
    """A function of the frame and the file that does these operations."""
    processor = jit.processor()
    assert processor is not None
    return machine_function(name, assemble(operations, wanted, processor))


def machine_function(name: str, code: bytes) -> str:
    """Machine code as a function of a module: it is what the function begins with."""
    text = "".join(map(_ESCAPED.__getitem__, code))
    return (
        f"define internal void @{name}(ptr %frame, ptr %file) noinline nounwind "
        f'prologue [{len(code)} x i8] c"{text}" {{\n  ret void\n}}'
    )


_ESCAPED = [f"\\{byte:02x}" for byte in range(256)]
