"""Reading a cubin: machine instructions with their scheduling bits, and the PTX line that each came from.

ptxas decides what really runs: which loads it merges into wide ones, what it predicates, how far it unrolls,
how early it issues a load. It writes all that into the instruction stream: a stall count, up to two scoreboards
that an instruction sets, and a mask of scoreboards that it waits for. This module owns the file format only.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from evoengineer.sim.timing import opcodes
from evoengineer.toolchain.elf import NO_BITS, read_sections, text_at

_LINES = ".nv_debug_line_sass"
_NO_BARRIER = 7
_OLDEST, _HOPPER = 50, 90  # architectures
_WIDTHS = (1, 1, 2, 2, 4, 8, 16, 16)


@dataclass(frozen=True, slots=True)
class MachineInstr:
    """A machine instruction: what the scheduler knows of it, and where it comes from."""

    operation: int  # see opcodes
    pipe: str
    stall: int  # clocks before the warp may issue its next instruction
    sets: int  # scoreboard released when the result is there, -1: none; DEPBAR: the one it looks at
    reads: int  # scoreboard released when the operands have been read, -1: none
    waits: int  # mask of scoreboards
    line: int  # of the PTX text, 0: unknown
    bytes: int  # per lane, memory operations only; DEPBAR: results that may still be outstanding
    guarded: bool
    target: int  # index of the instruction that a branch goes to, -1: none


@dataclass(frozen=True, slots=True)
class MachineCode:
    """One kernel's instructions, padding left out."""

    instrs: tuple[MachineInstr, ...]


def read_code(cubin: bytes) -> dict[str, MachineCode]:
    """Machine code of all kernels in a cubin, by name."""
    sections = {each.name: each.data for each in read_sections(cubin) if each.kind != NO_BITS}
    lines = _line_tables(sections)
    found = {}
    for name, data in sections.items():
        if name.startswith(".text."):
            kernel = name[6:]
            found[kernel] = MachineCode(tuple(_decode(data, lines.get(kernel, {}), _architecture(cubin))))
    return found


def _architecture(cubin: bytes) -> int:
    """Of an ELF file's flags, which toolkits before 13 arranged in another way."""
    flags = int.from_bytes(cubin[0x30:0x34], "little")
    return flags & 0xFF if flags & 0xFF >= _OLDEST else flags >> 8 & 0xFF


def _offset(low: int, architecture: int) -> int:
    """Bytes from the end of a branch to its target."""
    if architecture < _HOPPER:
        return _sign(low >> 32, 32)
    return 4 * _sign((low >> 34) << 8 | low >> 16 & 0xFF, 38)


def _sign(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def _decode(text: bytes, lines: dict[int, int], architecture: int) -> list[MachineInstr]:
    found = []
    line = 0
    for address in range(0, len(text) - 15, 16):
        low, high = struct.unpack_from("<QQ", text, address)
        line = lines.get(address, line)
        operation = opcodes.COUNT if low & 0xFFF == opcodes.COUNT else low & 0x1FF
        control = high >> 41
        guard = low >> 12 & 0xF
        pipe = opcodes.pipe_of(operation)
        target = -1
        if operation in (opcodes.BRA, opcodes.CALL):
            target = (address + 16 + _offset(low, architecture)) // 16
        sets, reads = control >> 5 & 7, control >> 8 & 7
        size = _WIDTHS[high >> 9 & 7] if pipe in ("shared", "global", "local") else 0
        if operation == opcodes.DEPBAR:
            sets, size = low >> 44 & 7, low >> 38 & 63
        found.append(
            MachineInstr(
                operation,
                pipe,
                control & 15,
                -1 if sets == _NO_BARRIER else sets,
                -1 if reads == _NO_BARRIER else reads,
                control >> 11 & 63,
                line,
                size,
                guard != 7,
                target,
            )
        )
    return found


def _line_tables(sections: dict[str, bytes]) -> dict[str, dict[int, int]]:
    """Kernel → address → line of the PTX text, from a DWARF line program (version 2)."""
    data = sections.get(_LINES, b"")
    relocations, entry = sections.get(".rel" + _LINES, b""), 16
    if not relocations:
        relocations, entry = sections.get(".rela" + _LINES, b""), 24
    symbols, strings = sections.get(".symtab", b""), sections.get(".strtab", b"")
    owner: dict[int, str] = {}
    for at in range(0, len(relocations), entry):
        offset, info = struct.unpack_from("<QQ", relocations, at)
        (name,) = struct.unpack_from("<I", symbols, 24 * (info >> 32))
        owner[offset] = text_at(strings, name)
    tables: dict[str, dict[int, int]] = {}
    start = 0
    while start < len(data):
        (size,) = struct.unpack_from("<I", data, start)
        _line_program(data, start, start + 4 + size, owner, tables)
        start += 4 + size
    return tables


def _line_program(
    data: bytes, start: int, end: int, owner: dict[int, str], tables: dict[str, dict[int, int]]
) -> None:
    (header,) = struct.unpack_from("<I", data, start + 6)
    unit, _, base, span, first = struct.unpack_from("<BBbBB", data, start + 10)
    lengths = data[start + 15 : start + 14 + first]
    at = start + 10 + header
    address, line = 0, 1
    table: dict[int, int] = {}
    while at < end:
        code = data[at]
        at += 1
        if code >= first:
            address += (code - first) // span * unit
            line += base + (code - first) % span
            table[address] = line
        elif code == 0:
            length, at = _unsigned(data, at)
            if data[at] == 2:  # set address: a new kernel begins
                table = tables.setdefault(owner.get(at + 1, ""), {})
                address, line = 0, 1
            at += length
        elif code == 1:
            table[address] = line
        elif code == 2:
            value, at = _unsigned(data, at)
            address += value * unit
        elif code == 3:
            value, at = _signed(data, at)
            line += value
        elif code == 8:
            address += (255 - first) // span * unit
        elif code == 9:
            address += struct.unpack_from("<H", data, at)[0]
            at += 2
        else:
            for _ in range(lengths[code - 1]):
                _, at = _unsigned(data, at)


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _signed(data: bytes, at: int) -> tuple[int, int]:
    start = at
    value, at = _unsigned(data, at)
    bits = 7 * (at - start)
    return _sign(value, bits), at
