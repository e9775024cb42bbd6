"""Machine code for runs of plain arithmetic (runs.py), without LLVM.

A run is straight-line code on vectors in memory: no branches, no addresses to compute, one kind of value. LLVM takes
tenths of a millisecond for each of its operations; here they cost microseconds. Lanes have nothing to do with each
other, so the code is written for as many lanes as a register of the processor holds, and goes round until all 32 are
done.

Values stay in registers while there are any; then the one that is needed last makes room. What nobody reads afterwards
is never written to memory.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

_LANES = 32
_NEVER = 1 << 30

# A place is a vector of 32 floats in memory: twice its offset in bytes, and which of the two pointers that is from.
FRAME, FILE = 0, 1
_BASES = (7, 6)  # numbers of rdi and rsi, where a function's first arguments arrive


def place(pointer: int, offset: int) -> int:
    """A place behind FRAME or FILE."""
    return offset << 1 | pointer


@dataclass(frozen=True, slots=True)
class Operation:
    """fma, add, sub or mul, or `mov`, which copies."""

    op: str
    to: int
    given: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Processor:
    """How many registers there are for vectors, and how many floats are in each."""

    registers: int
    floats: int


AVX512, AVX2 = Processor(32, 16), Processor(16, 8)


def processor_of(features: str) -> Processor | None:
    """By LLVM's list of a processor's features; None: no code is written for it."""
    known = set(features.split(","))
    if "+avx512f" in known:
        return AVX512
    return AVX2 if {"+avx2", "+fma"} <= known else None


_LOAD, _STORE, _MULTIPLY_ADD = 0x28, 0x29, 0xB8  # opcodes
_PLAIN = {"add": 0x58, "mul": 0x59, "sub": 0x5C}
_EITHER_WAY = frozenset({"fma", "add", "mul"})  # the first two operands may change places


def assemble(operations: Sequence[Operation], wanted: Collection[int], processor: Processor) -> bytes:
    """The body of a function of the two pointers, without its return. Afterwards the places that are `wanted` have
    their values; what others have that are written to, nobody knows."""
    body = _Body(operations, frozenset(wanted), processor).code()
    step = 4 * processor.floats
    begin = b"\xb9" + (_LANES // processor.floats).to_bytes(4, "little")  # mov ecx, rounds
    end = bytes((0x48, 0x83, 0xC7, step, 0x48, 0x83, 0xC6, step, 0xFF, 0xC9))  # add to both pointers, dec ecx
    back = -(len(body) + len(end) + 6)
    return b"".join([begin, body, end, b"\x0f\x85", back.to_bytes(4, "little", signed=True)])  # jnz


class _Body:
    """One round."""

    def __init__(self, operations: Sequence[Operation], wanted: frozenset[int], processor: Processor) -> None:
        self._operations, self._wanted = operations, wanted
        self._encode = _evex if processor.floats == 16 else _vex
        self._parts: list[bytes] = []
        self._register: dict[int, int] = {}  # place → where its value is besides memory, or instead
        self._holds: list[int | None] = [None] * processor.registers
        self._next = [_NEVER] * processor.registers  # when what a register holds is read again
        self._changed: set[int] = set()  # places whose value memory does not have

    def code(self) -> bytes:
        for number, (operation, later) in enumerate(
            zip(self._operations, _later(self._operations, self._wanted), strict=True)
        ):
            self._one(number, operation, later)
        for each in sorted(self._changed & self._wanted):
            self._write(_STORE, self._register[each], 0, each)
        return b"".join(self._parts)

    def _one(self, number: int, operation: Operation, later: list[int]) -> None:
        op, given = operation.op, operation.given
        *after, then = later
        if op in _EITHER_WAY and given[0] not in self._register and given[1] in self._register:
            given, after = (given[1], given[0], *given[2:]), [after[1], after[0], *after[2:]]
        first = self._fetch(given[0], number)
        second = self._operand(given[1], number, after[1]) if len(given) > 1 else ~first
        if op == "fma":
            result = self._sum(given[2], number, after[2], first, ~second)
            self._write(_MULTIPLY_ADD, result, first, second)
        else:
            result = self._take()
            self._write(_LOAD if op == "mov" else _PLAIN[op], result, 0 if op == "mov" else first, second)
        for each, next_ in zip(given, after, strict=True):
            if each in self._register:
                self._next[self._register[each]] = next_
        self._set(result, operation.to, then)

    def _fetch(self, place: int, number: int) -> int:
        """The register with a value, which stays in it for now."""
        found = self._register.get(place)
        if found is None:
            found = self._take()
            self._write(_LOAD, found, 0, place)
            self._register[place], self._holds[found] = found, place
        self._next[found] = number
        return found

    def _operand(self, place: int, number: int, then: int) -> int:
        """A register, inverted; or the place itself, if its value is read from memory and never again."""
        if place not in self._register and then == _NEVER:
            return place
        return ~self._fetch(place, number)

    def _sum(self, addend: int, number: int, then: int, *factors: int) -> int:
        """A register with the addend, to be overwritten: its own if nobody needs it afterwards."""
        held = self._register.get(addend)
        if held is not None and then == _NEVER and held not in factors:
            self._forget(addend)
            self._next[held] = number
            return held
        if held is not None:
            self._next[held] = number
        copy = self._take()
        self._write(_LOAD, copy, 0, addend if held is None else ~held)
        return copy

    def _take(self) -> int:
        """A register to write to: the one whose value is needed last."""
        found = max(range(len(self._next)), key=self._next.__getitem__)
        place = self._holds[found]
        if place is not None:
            if place in self._changed and self._next[found] != _NEVER:
                self._write(_STORE, found, 0, place)
            self._forget(place)
        return found

    def _set(self, register: int, place: int, then: int) -> None:
        """A place has a new value, in this register."""
        if place in self._register:
            self._forget(place)
        self._register[place], self._holds[register], self._next[register] = register, place, then
        self._changed.add(place)

    def _forget(self, place: int) -> None:
        """Its register is free."""
        register = self._register.pop(place)
        self._holds[register], self._next[register] = None, _NEVER
        self._changed.discard(place)

    def _write(self, opcode: int, register: int, first: int, second: int) -> None:
        self._parts.append(self._encode(opcode, register, first, second))


def _later(operations: Sequence[Operation], wanted: frozenset[int]) -> list[list[int]]:
    """For each operation, when the values are read again that it reads, and then its result."""
    next_ = dict.fromkeys(wanted, len(operations))
    found = []
    for number in reversed(range(len(operations))):
        operation = operations[number]
        then = next_.pop(operation.to, _NEVER)
        found.append([*(next_.get(each, _NEVER) for each in operation.given), then])
        next_.update(dict.fromkeys(operation.given, number))
    found.reverse()
    return found


# -- instructions: `second` is a place, or a register inverted ---------------------------------------------


def _evex(opcode: int, register: int, first: int, second: int) -> bytes:
    """With registers of 16 floats."""
    multiplies = opcode == _MULTIPLY_ADD
    p0 = (2 if multiplies else 1) | (0 if register & 8 else 0x80) | (0 if register & 16 else 0x10)
    p1 = 4 | (~first & 15) << 3 | multiplies
    p2 = 0x40 | (0 if first & 16 else 8)
    low = (register & 7) << 3
    if second < 0:
        other = ~second
        p0 |= (0 if other & 8 else 0x20) | (0 if other & 16 else 0x40)
        return bytes((0x62, p0, p1, p2, opcode, 0xC0 | low | other & 7))
    units, rest = divmod(second >> 1, 64)
    low |= _BASES[second & 1]
    if rest == 0 and units < 128:
        return bytes((0x62, p0 | 0x60, p1, p2, opcode, 0x40 | low, units))
    return bytes((0x62, p0 | 0x60, p1, p2, opcode, 0x80 | low)) + (second >> 1).to_bytes(4, "little")


def _vex(opcode: int, register: int, first: int, second: int) -> bytes:
    """With registers of eight."""
    multiplies = opcode == _MULTIPLY_ADD
    p0 = (2 if multiplies else 1) | (0 if register & 8 else 0x80) | 0x40
    p1 = 4 | (~first & 15) << 3 | multiplies
    low = (register & 7) << 3
    if second < 0:
        other = ~second
        return bytes((0xC4, p0 | (0 if other & 8 else 0x20), p1, opcode, 0xC0 | low | other & 7))
    low |= _BASES[second & 1]
    return bytes((0xC4, p0 | 0x20, p1, opcode, 0x80 | low)) + (second >> 1).to_bytes(4, "little")
