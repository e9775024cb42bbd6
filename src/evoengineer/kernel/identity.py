"""The identity of a build: a hash of its machine code, blind to what does not run.

Device code counts without line information and comments; host code counts as the object file's code, constants
and relocations. So two texts that differ in comments, formatting or names of local variables have the same
identity, and two that launch differently do not. A text whose own macros use __LINE__ is the exception.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterator

from evoengineer.toolchain.elf import NO_BITS, RELOCATIONS, SYMBOLS, Section, read_sections, text_at

_DEBUG_SECTION = re.compile(r"^\s*\.section\s+\.debug.*?^\s*\}", re.DOTALL | re.MULTILINE)
_IGNORED_LINE = re.compile(r"^\s*(?://.*|\.(?:loc|file)\b.*|\$L__(?:tmp|func_\w+)\d*:)?$")
_COMMENT = re.compile(r"\s*//.*$")
_COUNTED = (".text", ".rodata", ".data", ".init_array", ".bss")
_SECTION_SYMBOL, _LOCAL = 3, 0


def build_id(ptx: str, host_object: bytes) -> str:
    digest = hashlib.sha256()
    for line in device_lines(ptx):
        digest.update(line.encode() + b"\n")
    for part in host_parts(host_object):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:20]


def device_lines(ptx: str) -> Iterator[str]:
    """The lines of a PTX text that say what runs."""
    for line in _DEBUG_SECTION.sub("", ptx).split("\n"):
        if not _IGNORED_LINE.match(line):
            yield _COMMENT.sub("", line).strip()


def host_parts(image: bytes) -> Iterator[bytes]:
    """Code, constants and relocations of an ELF object file, in the order of its sections."""
    sections = read_sections(image)
    symbols = next((section for section in sections if section.kind == SYMBOLS), None)
    for section in sections:
        target = sections[section.info] if section.kind == RELOCATIONS else section
        if not target.name.startswith(_COUNTED):
            continue
        if section.kind == RELOCATIONS and symbols is not None:
            yield b"".join(_relocations(section, symbols, sections))
        elif section.kind == NO_BITS:
            yield f"{section.name} {section.size}".encode()
        else:
            yield section.name.encode() + b"\0" + section.data


def _relocations(section: Section, symbols: Section, sections: list[Section]) -> Iterator[bytes]:
    strings = sections[symbols.link].data
    for offset, info, addend in struct.iter_unpack("<QQq", section.data):
        name, kind, _, index, value, _ = struct.unpack_from("<IBBHQQ", symbols.data, (info >> 32) * 24)
        # A local symbol is a place in a section; its own name does not matter.
        if kind & 15 == _SECTION_SYMBOL or (kind >> 4 == _LOCAL and index < len(sections)):
            target = f"{sections[index].name}+{value}"
        else:
            target = text_at(strings, name)
        yield f"{offset} {info & 0xFFFFFFFF} {target} {addend}\n".encode()
