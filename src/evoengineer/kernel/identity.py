"""The identity of a build: a hash of all that runs or is there when it runs, blind to what is not.

Device code counts without line information and comments; host code counts as everything of the object file that
is loaded, with its relocations and the symbols that others can see. So two texts that differ in comments, formatting
or names of local variables have the same identity, and two that behave differently do not: whoever writes his text so
that it looks like what is left out here gets an identity of his own. A text whose own macros use __LINE__ is the
exception.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections import Counter
from collections.abc import Iterator

from evoengineer.sim.ptx.fatbin import only_ptx
from evoengineer.toolchain.elf import NO_BITS, RELOCATIONS, SYMBOLS, Section, read_sections, text_at

_DEBUG_SECTION = re.compile(r"^\s*\.section\s+\.debug.*?^\s*\}", re.DOTALL | re.MULTILINE)
# To the letter as nvcc writes them: PTX allows an instruction behind a directive on the same line.
_PLACE = re.compile(
    r"\s*\.loc\s+\d+\s+\d+\s+\d+(?:\s*,\s*function_name\s+[\w$]+(?:\+\d+)?\s*,\s*inlined_at\s+\d+\s+\d+\s+\d+)?\s*"
)
_FILE = re.compile(r"\s*\.file\s+\d+\s+\"[^\"]*\"(?:\s*,\s*\d+\s*,\s*\d+)?\s*")
_DEBUG_LABEL = re.compile(r"\s*(\$L__(?:tmp|func_\w+)\d*):\s*")
_LABEL = re.compile(r"\$L__\w+")
_COMMENT = re.compile(r"\s*//.*$")
_DEVICE_CODE = ".nv_fatbin"
_SECTION_SYMBOL, _LOCAL, _UNDEFINED = 3, 0, 0


def build_id(ptx: str, host_object: bytes) -> str:
    digest = hashlib.sha256()
    for line in device_lines(ptx):
        digest.update(line.encode() + b"\n")
    for part in host_parts(host_object, ptx):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:20]


def device_lines(ptx: str) -> Iterator[str]:
    """The lines of a PTX text that say what runs. A comment over several lines, which nvcc never writes, may hide or
    show anything: such a text counts as it is."""
    if "/*" in ptx:
        yield ptx
        return
    text = _DEBUG_SECTION.sub("", ptx)
    named = Counter(_LABEL.findall(text))
    for line in text.split("\n"):
        label = _DEBUG_LABEL.fullmatch(line)
        if label and named[label[1]] == 1:  # nobody goes there
            continue
        if _PLACE.fullmatch(line) or _FILE.fullmatch(line):
            continue
        said = line if '"' in line else _COMMENT.sub("", line)
        if said.strip():
            yield said.strip()


def host_parts(image: bytes, ptx: str) -> Iterator[bytes]:
    """What is loaded of an ELF object file with its relocations, in the order of its sections, and its symbols."""
    sections = read_sections(image)
    symbols = next((section for section in sections if section.kind == SYMBOLS), None)
    for section in sections:
        target = sections[section.info] if section.kind == RELOCATIONS else section
        if not target.loaded or (section.name == _DEVICE_CODE and _holds(section.data, ptx)):
            continue
        if section.kind == RELOCATIONS and symbols is not None:
            yield b"".join(_relocations(section, symbols, sections))
        elif section.kind == NO_BITS:
            yield f"{section.name} {section.flags} {section.size}".encode()
        else:
            yield f"{section.name} {section.flags}".encode() + b"\0" + section.data
    if symbols is not None:
        yield "\n".join(sorted(_visible(symbols, sections))).encode()


def _holds(image: bytes, ptx: str) -> bool:
    """Is it this device code and nothing else? (nvcc embeds it with less white space.)"""
    embedded = only_ptx(image)
    return embedded is not None and _tight(embedded) == _tight(ptx)


def embedded_ptx(image: bytes, ptx: str) -> str | None:
    """The text of a fat binary, if it is this one line by line but for comments and white space: ptxas makes the same
    of both."""
    embedded = only_ptx(image)
    alike = embedded is not None and "/*" not in ptx and _bare_lines(embedded) == _bare_lines(ptx)
    return embedded if alike else None


def _bare_lines(ptx: str) -> list[str]:
    lines = (line if '"' in line else _COMMENT.sub("", line) for line in ptx.rstrip().split("\n"))
    return ["".join(line.split()) for line in lines]


def _tight(ptx: str) -> list[str]:
    return ["".join(line.split()) for line in device_lines(ptx)]


def _relocations(section: Section, symbols: Section, sections: list[Section]) -> Iterator[bytes]:
    strings = sections[symbols.link].data
    for offset, info, addend in struct.iter_unpack("<QQq", section.data):
        name, kind, _, index, value, _ = struct.unpack_from("<IBBHQQ", symbols.data, (info >> 32) * 24)
        # A local symbol is a place in a section; its own name does not matter.
        if kind & 15 == _SECTION_SYMBOL or (kind >> 4 == _LOCAL and index < len(sections)):
            target = f"{sections[index].name}+{value} {kind & 15}"
        else:
            target = text_at(strings, name)
        yield f"{offset} {info & 0xFFFFFFFF} {target} {addend}\n".encode()


def _visible(symbols: Section, sections: list[Section]) -> Iterator[str]:
    """Symbols that other objects, and the loader, see: a name may take the place of somebody else's."""
    strings = sections[symbols.link].data
    for name, kind, other, index, value, size in struct.iter_unpack("<IBBHQQ", symbols.data):
        if kind >> 4 != _LOCAL and index != _UNDEFINED:
            where = sections[index].name if index < len(sections) else str(index)
            yield f"{text_at(strings, name)} {kind} {other} {where} {value} {size}"
