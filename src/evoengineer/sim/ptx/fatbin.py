"""Reading fat binaries: the containers in which nvcc embeds PTX and machine code.

A container is a header (magic 0xba55ed50, version, header size, content size) and entries, each with a kind
(1 PTX, 2 machine code), a header size, a payload size and flags that say whether and how the payload is
compressed. Only PTX is of use here. This module owns the format, not what becomes of the PTX.
"""

import itertools
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from evoengineer.errors import PtxError, UnsupportedError

MAGIC = 0xBA55ED50
_CONTAINER = struct.Struct("<IHHQ")  # magic, version, header bytes, bytes of the entries
# kind, version, header bytes, padded payload bytes, compressed bytes, options offset, minor, major, arch
_ENTRY = struct.Struct("<HHIQIIHHI")
_FLAGS_AT, _TEXT_BYTES_AT = 0x28, 0x38  # in an entry's header: u64 flags, u64 bytes once decompressed
_PTX, _MACHINE_CODE = 1, 2
_LZ4, _ZSTD = 0x2000, 0x8000  # flags: how the payload is compressed
MOST_TEXT_BYTES = 256 << 20  # of one module's PTX once decompressed
_MOST_ENTRIES = 4096


@dataclass(frozen=True, slots=True)
class PtxImage:
    """One PTX text of a container."""

    arch: int  # 89 for compute_89
    text: str


def ptx_of(image: bytes, arch: int) -> str | None:
    """The PTX of an image (a container or PTX text) that suits compute capability `arch` best.

    None if the image is empty; UnsupportedError if it holds machine code only, PtxError if it is neither.
    """
    if not image.startswith(struct.pack("<I", MAGIC)):
        if image.startswith(b"\x7fELF"):
            raise UnsupportedError(_NO_PTX.format("a cubin"))
        text = image.partition(b"\0")[0].decode("utf-8", "replace")
        if ".version" not in text:
            raise PtxError(f"not device code: neither a fat binary nor PTX text, but {text[:40]!r}")
        return text
    entries = list(itertools.islice(_entries(image), _MOST_ENTRIES))
    images = [_ptx_image(entry) for entry in entries if entry.kind == _PTX]
    if not images:
        if any(entry.kind == _MACHINE_CODE for entry in entries):
            raise UnsupportedError(_NO_PTX.format("the program's device code"))
        return None
    fitting = [each for each in images if each.arch <= arch] or images
    return max(fitting, key=lambda each: each.arch).text


def only_ptx(image: bytes) -> str | None:
    """The PTX of a fat binary that holds one text and nothing else; None for any other."""
    if len(image) < _CONTAINER.size:
        return None
    magic, _, header_bytes, content_bytes = _CONTAINER.unpack_from(image)
    if magic != MAGIC or image[header_bytes + content_bytes :].strip(b"\0"):
        return None
    entries = list(itertools.islice(_entries(image), 2))
    if len(entries) != 1 or entries[0].kind != _PTX:
        return None
    return _ptx_image(entries[0]).text


_NO_PTX = (
    "{} is machine code without PTX, which the simulated GPU cannot run: "
    "compile with -gencode arch=compute_89,code=compute_89"
)


@dataclass(frozen=True, slots=True)
class _Entry:
    kind: int
    arch: int
    flags: int
    text_bytes: int
    payload: bytes


def _entries(image: bytes) -> Iterator[_Entry]:
    at = 0
    while at + _CONTAINER.size <= len(image):  # containers may follow one another
        magic, _, header_bytes, content_bytes = _CONTAINER.unpack_from(image, at)
        if magic != MAGIC:
            return
        if header_bytes < _CONTAINER.size:
            raise PtxError("a damaged fat binary: the container's header is too short")
        at += header_bytes
        end = min(at + content_bytes, len(image))
        while at + max(_ENTRY.size, _FLAGS_AT + 8) <= end:
            kind, _, header, padded, compressed, _, _, _, arch = _ENTRY.unpack_from(image, at)
            flags = struct.unpack_from("<Q", image, at + _FLAGS_AT)[0]
            whole = header >= 0x40 and at + 0x40 <= end
            text_bytes = struct.unpack_from("<Q", image, at + _TEXT_BYTES_AT)[0] if whole else 0
            if header < _ENTRY.size or text_bytes > MOST_TEXT_BYTES:
                raise PtxError(f"a damaged fat binary: an entry of {header} + {text_bytes} bytes")
            size = compressed if flags & (_LZ4 | _ZSTD) else padded
            yield _Entry(kind, arch, flags, text_bytes, image[at + header : at + header + size])
            at += header + padded
        at = end


def _ptx_image(entry: _Entry) -> PtxImage:
    data = entry.payload
    if entry.flags & _ZSTD:
        import zstandard

        data = zstandard.ZstdDecompressor().decompress(data, max_output_size=entry.text_bytes)
    elif entry.flags & _LZ4:
        data = lz4_decompress(data, entry.text_bytes)
    return PtxImage(entry.arch, data.rstrip(b"\0").decode("utf-8", "replace"))


def lz4_decompress(data: bytes, size: int) -> bytes:
    """Decode one LZ4 block: runs of literals, each followed by a copy from what is already there."""
    out = bytearray()
    at = 0
    while at < len(data) and len(out) <= size:
        token = data[at]
        count, at = _length(data, at + 1, token >> 4)
        out += data[at : at + count]
        at += count
        if at >= len(data):
            break
        distance = data[at] | data[at + 1] << 8
        count, at = _length(data, at + 2, token & 15)
        count += 4
        start = len(out) - distance
        if len(out) + count > size:
            break
        if distance == 0 or start < 0:
            raise UnsupportedError("the program's compressed PTX is damaged; compile with --no-compress")
        if distance >= count:
            out += out[start : start + count]
        else:  # the copy overlaps what it writes: the pattern repeats
            pattern = bytes(out[start:])
            out += (pattern * (count // distance + 1))[:count]
    if len(out) != size:
        raise UnsupportedError("the program's compressed PTX is damaged; compile with --no-compress")
    return bytes(out)


def _length(data: bytes, at: int, nibble: int) -> tuple[int, int]:
    """A length that may go on in further bytes, and the position after it."""
    if nibble == 15:
        while True:
            nibble += data[at]
            at += 1
            if data[at - 1] != 255:
                break
    return nibble, at
