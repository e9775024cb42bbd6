"""Sections of 64-bit ELF files: object files of the host, cubins of the device."""

from __future__ import annotations

import struct
from dataclasses import dataclass

SYMBOLS, RELOCATIONS, NO_BITS = 2, 4, 8  # kinds of sections
_LOADED = 2  # flag


@dataclass(frozen=True, slots=True)
class Section:
    name: str
    kind: int
    flags: int
    data: bytes
    size: int
    link: int
    info: int

    @property
    def loaded(self) -> bool:
        """Is it there when the program runs?"""
        return bool(self.flags & _LOADED)


def read_sections(image: bytes) -> list[Section]:
    """In the file's order, by which sections name each other; ValueError if it is no such file."""
    if image[:5] != b"\x7fELF\x02":
        raise ValueError("not a 64-bit ELF file")
    (table,) = struct.unpack_from("<Q", image, 0x28)
    size, count, names_index = struct.unpack_from("<HHH", image, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, table + i * size) for i in range(count)]
    names = headers[names_index][4]
    return [
        Section(
            text_at(image, names + name),
            kind,
            flags,
            b"" if kind == NO_BITS else image[start : start + length],
            length,
            link,
            info,
        )
        for name, kind, flags, _, start, length, link, info, _, _ in headers
    ]


def text_at(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode(errors="replace")
