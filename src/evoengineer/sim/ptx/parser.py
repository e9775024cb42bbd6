"""PTX text → Module. Function bodies are kept as text, which body.py reads on demand.

The grammar is taken as nvcc emits it (also around inline assembly), not as the whole PTX ISA allows it.
"""

from __future__ import annotations

import ctypes
import math
import re
import struct
from functools import lru_cache

from evoengineer.errors import PtxError
from evoengineer.sim.ptx.model import (
    TYPE_BYTES,
    Function,
    Imm,
    Initial,
    Module,
    Param,
    Variable,
)

_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.S)
_FILE = re.compile(r'\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"')
_BRACES = re.compile(r"[{}]")
_FUNCTION = re.compile(r"\.(entry|func)\b")
_PARAM = re.compile(
    r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+(?:\.ptr(?:\s*\.(?!align\b)\w+)*(?:\s*\.align\s+\d+)?\s+)?([\w$]+)\s*(?:\[\s*(\d*)\s*\])?"
)
_VARIABLE = re.compile(
    r"\.(global|const|shared|local)\s+((?:\.attribute\([^)]*\)\s*)?)(?:\.align\s+(\d+)\s+)?\.(?:(v2|v4)\s+\.)?(\w+)\s+([\w$]+)\s*((?:\[\s*\d*\s*\])*)\s*(?:=\s*(.*))?$",
    re.S,
)
_IN_TABLES = frozenset("{},0123456789 \n\t")
_OCTAL = re.compile(r"(?<!\d)0\d")
_PIECE = 1 << 20  # characters
_DECIMAL = r"(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+"  # a float as people write it
NUMBER = re.compile(
    rf"^[+-]?(?:0[fF][0-9a-fA-F]{{8}}|0[dD][0-9a-fA-F]{{16}}|0[xX][0-9a-fA-F]+U?|\d+U?|{_DECIMAL})$"
)


@lru_cache(maxsize=4)  # what every candidate is linked with is read once
def parse_module(text: str) -> Module:
    """Parse the outer structure of a PTX file."""
    files = {int(n): name for n, name in _FILE.findall(text)}
    # Line numbers stay what they are: machine code refers to them.
    text = _COMMENT.sub(
        lambda m: m.group(0) if m.group(0)[0] == '"' else " " + "\n" * m.group(0).count("\n"), text
    )
    target = re.search(r"\.target\s+(\w+)", text)
    module = Module({}, {}, files, target.group(1) if target else "")
    for statement, body, line in _top_level(text):
        _declare(module, statement, body, line)
    return module


def _top_level(text: str) -> list[tuple[str, str | None, int]]:
    """Split a file into (statement, body, line of the body); body is the text between a function's braces."""
    found: list[tuple[str, str | None, int]] = []
    text = re.sub(r"^[ \t]*\.(?:version|target|address_size|file)\b[^\n]*$", "", text, flags=re.M)
    start = 0
    scan = re.compile(r'[{};"]')
    position = 0
    while (mark := scan.search(text, position)) is not None:
        position = mark.end()
        char = mark.group(0)
        if char == '"':
            position = text.index('"', position) + 1
        elif char == ";":
            found.append((text[start : mark.start()].strip(), None, 0))
            start = position
        elif char == "{":
            end = _closing(text, mark.start())
            head = text[start : mark.start()].strip()
            if _FUNCTION.search(head):
                found.append((head, text[mark.end() : end], 1 + text.count("\n", 0, mark.end())))
                start = position = end + 1
            elif ".section" in head:
                start = position = end + 1
            else:  # the initialiser of a variable
                position = end + 1
        else:
            raise PtxError(f"unbalanced '}}' in PTX near {text[max(0, position - 60) : position]!r}")
    return found


def _closing(text: str, opening: int) -> int:
    depth = 0
    for mark in _BRACES.finditer(text, opening):
        depth += 1 if mark.group(0) == "{" else -1
        if depth == 0:
            return mark.start()
    raise PtxError(f"'{{' without its '}}' in PTX near {text[opening : opening + 60]!r}")


def _declare(module: Module, statement: str, body: str | None, line: int) -> None:
    if not statement or statement.startswith((".pragma", ".maxn", ".minn")):
        return
    if statement.startswith(".alias"):
        new, old = re.findall(r"[\w$]+", statement)[1:3]
        module.aliases[new] = old
        return
    if _FUNCTION.search(statement):
        function = _parse_function(statement, body)
        function.files, function.line = module.files, line
        known = module.functions.get(function.name)
        if known is None or (body is not None and not known.defined):
            module.functions[function.name] = function
        return
    variable = parse_variable(statement)
    known_variable = module.variables.get(variable.name)
    if known_variable is None or known_variable.external:
        module.variables[variable.name] = variable


def _parse_function(head: str, body: str | None) -> Function:
    entry = ".entry" in head
    rest = head[_FUNCTION.search(head).end() :].strip()  # type: ignore[union-attr]
    results: tuple[Param, ...] = ()
    if not entry and rest.startswith("("):
        end = rest.index(")")
        results = parse_params(rest[1:end])
        rest = rest[end + 1 :].strip()
    match = re.match(r"([\w$]+)\s*(\()?", rest)
    if match is None:
        raise PtxError(f"cannot read function header {head!r}")
    params: tuple[Param, ...] = ()
    tail = rest[match.end() :]
    if match.group(2):
        end = tail.index(")")
        params = parse_params(tail[:end])
        tail = tail[end + 1 :]
    threads = _extent("maxntid|reqntid", tail)
    cluster = _extent("reqnctapercluster", tail) > 1
    return Function(match.group(1), entry, params, results, body or "", threads, cluster, body is not None)


def _extent(directive: str, tail: str) -> int:
    """The product of the numbers that a directive of a function gives; 0 if it is not there."""
    found = re.search(rf"\.(?:{directive})\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", tail)
    return math.prod(int(extent or 1) for extent in found.groups()) if found else 0


def parse_params(text: str) -> tuple[Param, ...]:
    """A function's parameters or results, from the text between the brackets."""
    found = []
    for align, kind, name, count in _PARAM.findall(text):
        each = TYPE_BYTES[kind] or 1
        found.append(Param(name, each * int(count or 1), int(align or each)))
    # Registers as parameters (`.reg .b32 x`) do not occur in what nvcc emits.
    return tuple(found)


def parse_variable(statement: str) -> Variable:
    """A declaration of a variable: module-wide, shared, local …"""
    external = ".extern" in statement.partition("=")[0].split()
    text = re.sub(r"^(?:\.(?:visible|extern|weak|common)\s+)+", "", statement)
    if text.startswith(".tex") or re.search(r"\.(?:texref|surfref|samplerref)\b", text):
        name = re.findall(r"[\w$]+", text)[-1]
        return Variable(name, "global", 8, 8)
    match = _VARIABLE.match(text)
    if match is None:
        raise PtxError(f"cannot read PTX declaration {statement[:120]!r}")
    space, attributes, align, vector, kind, name, extents, init = match.groups()
    each = TYPE_BYTES[kind] * {"v2": 2, "v4": 4, None: 1}[vector]
    count, sizes = 1, re.findall(r"\[\s*(\d*)\s*\]", extents)
    for size in sizes:
        count *= int(size or 0)
    initial = _parse_initial(init, TYPE_BYTES[kind]) if init else ()
    return Variable(
        name, space, int(align or each), each * count, initial, external, ".managed" in attributes
    )


def _parse_initial(text: str, each: int) -> tuple[Initial, ...]:
    """`= {1, 2}`, `= 0f3F800000`, `= {generic(x)+4, 0xFF(y)}`: nested braces are flattened."""
    if each == 1 and _IN_TABLES.issuperset(text) and text.count("{") == 1 and not _OCTAL.search(text):
        return (Initial(0, _plain_bytes(text)),)
    found: list[Initial] = []
    plain = bytearray()
    plain_start = offset = 0
    for match in re.finditer(r"[^,{}]+", text):
        item = match.group(0).strip()
        if not item:
            continue
        if NUMBER.match(item):
            if not plain:
                plain_start = offset
            plain += _bytes_of(parse_number(item), each)
        else:
            if plain:
                found.append(Initial(plain_start, bytes(plain)))
                plain = bytearray()
            found.append(_symbolic(item, offset))
        offset += each
    if plain:
        found.append(Initial(plain_start, bytes(plain)))
    return tuple(found)


def _plain_bytes(text: str) -> bytes:
    """A table as nvcc writes it, of which there may be millions: piece by piece, so that it takes little memory."""
    text = text.strip().strip("{}")
    found, position = bytearray(), 0
    while position < len(text):
        end = text.find(",", position + _PIECE)
        end = len(text) if end < 0 else end
        found += bytes(int(item) & 0xFF for item in text[position:end].split(",") if item.strip())
        position = end + 1
    return bytes(found)


def _symbolic(item: str, offset: int) -> Initial:
    masked = re.match(r"(0x[0-9a-fA-F]+)\s*\((.*)\)\s*$", item)
    shift, inner = -1, item
    if masked:
        mask = int(masked.group(1), 16)
        shift = (mask & -mask).bit_length() - 1
        inner = masked.group(2)
    parts = re.match(r"\s*(generic\s*\(\s*)?([\w$]+)\s*\)?\s*([+-]\s*\d+)?\s*$", inner)
    if parts is None:
        raise PtxError(f"cannot read initialiser {item!r}")
    addend = int((parts.group(3) or "0").replace(" ", ""))
    return Initial(offset, b"", parts.group(2), addend, bool(parts.group(1)), shift)


def _bytes_of(number: Imm, each: int) -> bytes:
    value = single(number) if number.float_bits == 64 and each == 4 else number.value
    return (value & ((1 << (8 * each)) - 1)).to_bytes(each, "little")


def single(double: Imm) -> int:
    """The bits of the float next to a double literal: where a float is wanted. Too large a number is infinite."""
    (number,) = struct.unpack("<d", double.value.to_bytes(8, "little"))
    return int.from_bytes(bytes(ctypes.c_float(number)), "little")


def parse_number(text: str) -> Imm:
    """A literal: decimal, hexadecimal, octal, or a float: its bits (0f…, 0d…), or written out, which is a double."""
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-").rstrip("U")
    kind = digits[:2].lower()
    if kind == "0f" and len(digits) == 10:
        return Imm(int(digits[2:], 16), 32)
    if kind == "0d" and len(digits) == 18:
        return Imm(int(digits[2:], 16), 64)
    if kind == "0x":
        return Imm(sign * int(digits, 16))
    if not digits.isdigit():
        return Imm(int.from_bytes(struct.pack("<d", float(text)), "little"), 64)
    if len(digits) > 1 and digits[0] == "0":
        return Imm(sign * int(digits, 8))
    return Imm(sign * int(digits))
