"""Fat binaries: containers, compression, the choice of PTX."""

import struct

import pytest
import zstandard

from evoengineer.errors import PtxError, UnsupportedError
from evoengineer.sim.ptx.fatbin import lz4_decompress, ptx_of

PTX, MACHINE_CODE = 1, 2
LZ4, ZSTD = 0x2000, 0x8000
TEXT = b".version 9.0\n.target sm_89\n" + b"// the same line again and again\n" * 40


def entry(kind: int, arch: int, data: bytes, flags: int = 0, text_bytes: int = 0) -> bytes:
    """An entry with nvcc's header of 64 bytes; the payload is padded to 8."""
    padded = data + b"\0" * (-len(data) % 8)
    compressed = len(data) if flags & (LZ4 | ZSTD) else 0
    head = struct.pack("<HHIQIIHHI", kind, 0x101, 64, len(padded), compressed, 0, 0, 9, arch)
    return head + struct.pack("<QQQQ", 0, 0x11 | flags, 0, text_bytes) + padded


def container(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def literals(data: bytes) -> bytes:
    """An LZ4 block of literals only."""
    rest = len(data) - 15
    return bytes([0xF0]) + b"\xff" * (rest // 255) + bytes([rest % 255]) + data


def test_plain_ptx() -> None:
    assert ptx_of(container(entry(PTX, 89, TEXT)), 89) == TEXT.decode()


def test_text_is_taken_as_it_is() -> None:
    assert ptx_of(TEXT + b"\0", 89) == TEXT.decode()


def test_zstd() -> None:
    packed = zstandard.ZstdCompressor().compress(TEXT)
    assert ptx_of(container(entry(PTX, 89, packed, ZSTD, len(TEXT))), 89) == TEXT.decode()


def test_lz4_literals() -> None:
    assert ptx_of(container(entry(PTX, 89, literals(TEXT), LZ4, len(TEXT))), 89) == TEXT.decode()


def test_lz4_overlapping_copy() -> None:
    # "ab", then 12 bytes from 2 back, then the last literals.
    block = bytes([0x28]) + b"ab" + struct.pack("<H", 2) + bytes([0x30]) + b"xyz"
    assert lz4_decompress(block, 17) == b"ab" * 7 + b"xyz"


def test_lz4_damaged() -> None:
    with pytest.raises(UnsupportedError, match="damaged"):
        lz4_decompress(bytes([0x10]) + b"a" + struct.pack("<H", 9), 5)


def test_best_architecture_for_the_card() -> None:
    image = container(*(entry(PTX, arch, f"// {arch}".encode()) for arch in (75, 90, 80)))
    assert ptx_of(image, 89) == "// 80"
    assert ptx_of(image, 90) == "// 90"
    assert ptx_of(image, 70) == "// 90"  # nothing fits: the newest is the best guess


def test_machine_code_beside_ptx_is_ignored() -> None:
    assert ptx_of(container(entry(MACHINE_CODE, 89, b"\x7fELF"), entry(PTX, 80, b"// x")), 89) == "// x"


def test_machine_code_only_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="code=compute_89"):
        ptx_of(container(entry(MACHINE_CODE, 89, b"\x7fELF1234")), 89)
    with pytest.raises(UnsupportedError, match="cubin"):
        ptx_of(b"\x7fELF" + bytes(60), 89)


def test_empty_container_has_nothing() -> None:
    assert ptx_of(container(), 89) is None


def test_anything_else_is_refused() -> None:
    with pytest.raises(PtxError, match="neither a fat binary nor PTX text"):
        ptx_of(b"not ptx at all\0", 89)
