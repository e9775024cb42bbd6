"""mma, wmma, ldmatrix, stmatrix and movmatrix against NumPy, with the fragment layouts of the PTX ISA."""

import copy
import ctypes
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evoengineer.sim.runtime import native, structs

TYPES = ("f16", "bf16", "tf32", "f32", "f64", "s8", "u8", "s4", "u4", "b1", "s32", "e4m3", "e5m2")
BITS = dict(zip(TYPES, (16, 16, 32, 32, 64, 8, 8, 4, 4, 1, 32, 8, 8), strict=True))
COLUMN_A, ROW_B, SATFINITE, AND_POPC = 1, 2, 4, 8
OUT_OF_BOUNDS, MISALIGNED = 1, 2
FULL = 0xFFFFFFFF
Place = Callable[[int, int], tuple[int, int]]
Shape = tuple[int, int, int, str, str]  # m, n, k, type of A and B, type of the accumulators


def descriptor(shape: Shape, flags: int = 0) -> int:
    m, n, k, a, c = shape
    first, last = TYPES.index(a), TYPES.index(c)
    return m | n << 8 | k << 16 | first << 24 | first << 32 | last << 40 | last << 48 | flags << 56


def decode(kind: str, raw: np.ndarray) -> np.ndarray:
    """Values of elements given as unsigned integers of the type's width."""
    if kind == "f16":
        return raw.astype(np.uint16).view(np.float16).astype(float)
    if kind == "bf16":
        return (raw.astype(np.uint32) << 16).view(np.float32).astype(float)
    if kind in ("tf32", "f32"):
        mask = 0xFFFFE000 if kind == "tf32" else FULL
        return (raw.astype(np.uint32) & np.uint32(mask)).view(np.float32).astype(float)
    if kind == "f64":
        return raw.astype(np.uint64).view(float)
    if kind in ("e4m3", "e5m2"):
        mantissa = 3 if kind == "e4m3" else 2
        bias = 7 if kind == "e4m3" else 15
        exponent, fraction = (raw & 0x7F) >> mantissa, (raw & ((1 << mantissa) - 1)) / (1 << mantissa)
        normal = np.ldexp(1 + fraction, exponent.astype(int) - bias)
        return np.where(raw & 0x80, -1, 1) * np.where(exponent, normal, np.ldexp(fraction, 1 - bias))
    if kind in ("s8", "s4", "s32"):
        sign = 1 << (BITS[kind] - 1)
        return ((raw.astype(np.int64) ^ sign) - sign).astype(float)
    return raw.astype(float)


def random_elements(rng: np.random.Generator, kind: str, count: int) -> np.ndarray:
    """Raw elements of moderate size, so that sums of products are exact in f32."""
    values = rng.integers(-16, 17, count) / 4
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16).astype(np.uint64)
    if kind in ("bf16", "tf32", "f32"):
        raw = values.astype(np.float32).view(np.uint32)
        # The low 13 bits of tf32 inputs must not matter.
        raw = (
            raw >> 16
            if kind == "bf16"
            else raw | rng.integers(0, 1 << 13, count, dtype=np.uint32) * (kind == "tf32")
        )
        return raw.astype(np.uint64)
    if kind == "f64":
        return (values * 1.000000001).view(np.uint64)
    if kind == "s32":
        return rng.integers(-1000, 1000, count).astype(np.int32).view(np.uint32).astype(np.uint64)
    if kind in ("e4m3", "e5m2"):  # magnitudes from 1/4 to 4
        low, high = (0x28, 0x48) if kind == "e4m3" else (0x34, 0x44)
        return (rng.integers(low, high, count) | rng.integers(0, 2, count) << 7).astype(np.uint64)
    return rng.integers(0, 1 << BITS[kind], count, dtype=np.uint64)


def pack(kind: str, elements: np.ndarray) -> np.ndarray:
    """Registers of one lane from its elements, low bits first."""
    bits = BITS[kind]
    if bits == 64:
        return elements.astype(np.uint64)
    per = 32 // bits
    shifts = np.arange(per, dtype=np.uint64) * np.uint64(bits)
    return (elements.reshape(-1, per) << shifts).sum(axis=1).astype(np.uint32)


def unpack(kind: str, registers: np.ndarray) -> np.ndarray:
    bits = BITS[kind]
    if bits >= 32:
        return registers.astype(np.uint64)
    shifts = np.arange(32 // bits, dtype=np.uint64) * np.uint64(bits)
    return ((registers.astype(np.uint64)[:, None] >> shifts) & np.uint64((1 << bits) - 1)).ravel()


def fragment(kind: str, matrix: np.ndarray, place: Place) -> np.ndarray:
    """Register-major fragment of a matrix of raw elements; place(lane, i) is element i of a lane."""
    count = matrix.size // 32
    lanes = [pack(kind, np.array([matrix[place(lane, i)] for i in range(count)])) for lane in range(32)]
    return np.ascontiguousarray(np.stack(lanes, axis=1))


def matrix_of(kind: str, registers: np.ndarray, place: Place, shape: tuple[int, int]) -> np.ndarray:
    result = np.zeros(shape, np.uint64)
    for lane in range(32):
        for i, element in enumerate(unpack(kind, registers[:, lane])):
            result[place(lane, i)] = element
    return result


def accumulator(lane: int, i: int) -> tuple[int, int]:
    return lane // 4 + (8 if i >= 2 else 0), lane % 4 * 2 + i % 2


# Places of A and B by shape and the number of elements in a register, as the PTX ISA writes them.
def _a(per: int, rows: int) -> Place:
    def place(lane: int, i: int) -> tuple[int, int]:
        register, element = divmod(i, per)
        if rows == 8:
            return lane // 4, lane % 4 * per + element + 4 * per * register
        return lane // 4 + 8 * (register % 2), lane % 4 * per + element + 4 * per * (register // 2)

    return place


def _b(per: int) -> Place:
    def place(lane: int, i: int) -> tuple[int, int]:
        register, element = divmod(i, per)
        return lane % 4 * per + element + 4 * per * register, lane // 4

    return place


SHAPES = [
    *((16, 8, k, a, c) for k in (8, 16) for a, c in (("f16", "f32"), ("f16", "f16"), ("bf16", "f32"))),
    *((16, 8, k, "tf32", "f32") for k in (4, 8)),
    *((16, 8, k, "f64", "f64") for k in (4, 8, 16)), (8, 8, 4, "f64", "f64"),
    *((m, 8, k, a, "s32") for m, k in ((8, 16), (16, 16), (16, 32)) for a in ("s8", "u8")),
    *((m, 8, k, a, "s32") for m, k in ((8, 32), (16, 32), (16, 64)) for a in ("s4", "u4")),
    *((m, 8, k, "b1", "s32") for m, k in ((8, 128), (16, 128), (16, 256))),
    *((16, 8, 32, a, c) for a in ("e4m3", "e5m2") for c in ("f32", "f16")),
]  # fmt: skip


def product(kind: str, a: np.ndarray, b: np.ndarray, flags: int = 0) -> np.ndarray:
    left, right = decode(kind, a), decode(kind, b)
    if kind != "b1":
        return left @ right
    both = left @ right
    return both if flags & AND_POPC else left.sum(1)[:, None] + right.sum(0) - 2 * both


def rounded(kind: str, values: np.ndarray) -> np.ndarray:
    return values.astype(np.float16).astype(float) if kind == "f16" else values


@pytest.mark.parametrize("shape", SHAPES)
def test_mma_has_the_layouts_of_the_isa(ops: Any, shape: Shape) -> None:
    m, n, k, a, c = shape
    rng = np.random.default_rng(k)
    for flags in (0, SATFINITE, AND_POPC) if a == "b1" else (0,):
        left = random_elements(rng, a, m * k).reshape(m, k)
        right = random_elements(rng, a, k * n).reshape(k, n)
        start = random_elements(rng, c, m * n).reshape(m, n)
        per = max(32 // BITS[a], 1)
        operands = fragment(a, left, _a(per, m)), fragment(a, right, _b(per)), fragment(c, start, accumulator)
        result = np.zeros_like(operands[2])
        ops.call("rt_mma", FULL, descriptor(shape, flags), result, *operands)
        wanted = rounded(c, product(a, left, right, flags) + decode(c, start))
        got = decode(c, matrix_of(c, result, accumulator, (m, n)))
        np.testing.assert_allclose(got, wanted, rtol=1e-12 if c == "f64" else 0)


def test_integer_mma_wraps_or_saturates(ops: Any) -> None:
    largest = np.full((8, 16), 127, np.uint64)
    start = np.full((8, 8), 2**31 - 1, np.uint64)
    operands = (
        fragment("s8", largest, _a(4, 8)),
        fragment("s8", largest.T, _b(4)),
        fragment("s32", start, accumulator),
    )
    for flags, wanted in ((0, (2**31 - 1 + 16 * 127**2) - 2**32), (SATFINITE, 2**31 - 1)):
        result = np.zeros_like(operands[2])
        ops.call("rt_mma", FULL, descriptor((8, 8, 16, "s8", "s32"), flags), result, *operands)
        assert set(result.view(np.int32).ravel()) == {wanted}


def test_float_mma_saturates_if_told(ops: Any) -> None:
    big = np.full((16, 8), 0x7BFF, np.uint64)  # 65504
    start = np.zeros((16, 8), np.uint64)
    start[0, 0] = 0x7FFF  # NaN
    operands = (
        fragment("f16", big, _a(2, 16)),
        fragment("f16", big[:8], _b(2)),
        fragment("f16", start, accumulator),
    )
    for flags, first, rest in ((0, 0x7FFF, 0x7C00), (SATFINITE, 0, 0x7BFF)):
        result = np.zeros_like(operands[2])
        ops.call("rt_mma", FULL, descriptor((16, 8, 8, "f16", "f16"), flags), result, *operands)
        got = matrix_of("f16", result, accumulator, (16, 8))
        assert (got[0, 0], got[0, 1], got[15, 7]) == (first, rest, rest)


@pytest.mark.parametrize("flags", range(4))
@pytest.mark.parametrize("c", ["f16", "f32"])
def test_mma_m8n8k4_works_in_pairs_of_quads(ops: Any, flags: int, c: str) -> None:
    rng = np.random.default_rng(flags)
    raw = {name: random_elements(rng, kind, 32 * count).reshape(32, count)
           for name, kind, count in (("a", "f16", 4), ("b", "f16", 4), ("c", c, 8))}  # fmt: skip
    registers = {
        name: np.ascontiguousarray(np.stack([pack("f16" if name != "c" else c, row) for row in rows], axis=1))
        for name, rows in raw.items()
    }
    result = np.zeros_like(registers["c"])
    ops.call("rt_mma", FULL, descriptor((8, 8, 4, "f16", c), flags), result, *(registers[x] for x in "abc"))
    for pair in range(4):
        lanes = [lane for lane in range(32) if lane % 16 // 4 == pair]
        left, right, start, got = np.zeros((8, 4)), np.zeros((4, 8)), np.zeros((8, 8)), np.zeros((8, 8))
        for lane in lanes:
            high = 4 if lane >= 16 else 0
            for i, (x, y) in enumerate(
                zip(decode("f16", raw["a"][lane]), decode("f16", raw["b"][lane]), strict=True)
            ):
                left[(i + high, lane % 4) if flags & COLUMN_A else (lane % 4 + high, i)] = x
                right[(lane % 4, i + high) if flags & ROW_B else (i, lane % 4 + high)] = y
            for i in range(8):
                at = (
                    (lane % 4 + high, i)
                    if c == "f16"
                    else ((lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1))
                )
                start[at] = decode(c, raw["c"][lane])[i]
                got[at] = decode(c, unpack(c, result[:, lane]))[i]
        np.testing.assert_array_equal(got, rounded(c, left @ right + start))


def test_movmatrix_transposes(ops: Any) -> None:
    source = np.random.default_rng(0).integers(0, 1 << 16, (8, 8), dtype=np.uint16)
    result = np.zeros((8, 8), np.uint16)
    ops.call("rt_movmatrix", FULL, result, source)
    np.testing.assert_array_equal(result, source.T)


# ---- operations on memory, in launches ----


@pytest.fixture(scope="module")
def matrix_kernels(kernels: Any) -> Any:
    ours = copy.copy(kernels)
    flags = (*native.RUNTIME_FLAGS, f"-I{native.RUNTIME_SOURCES}")
    source = Path(__file__).with_name("matrix_kernels.cpp")
    ours.library = ctypes.CDLL(str(native.build_shared([source], "libmatrixkernels.so", flags)))
    return ours


@pytest.fixture
def room(kernels: Any) -> Iterator[int]:
    address = kernels.memory.allocate(structs.DEVICE, 8192)
    yield address
    kernels.memory.free(address)


WMMA = [
    *((m, n, 16, a, c) for m, n in ((16, 16), (32, 8), (8, 32))
      for a, c in (("f16", "f32"), ("f16", "f16"), ("bf16", "f32"), ("s8", "s32"), ("u8", "s32"))),
    (16, 16, 8, "tf32", "f32"), (8, 8, 4, "f64", "f64"),
    (8, 8, 32, "s4", "s32"), (8, 8, 32, "u4", "s32"), (8, 8, 128, "b1", "s32"),
]  # fmt: skip


def to_bytes(kind: str, matrix: np.ndarray, column_major: bool, stride: int) -> bytes:
    lines = matrix.T if column_major else matrix
    padded = np.zeros((lines.shape[0], stride), np.uint64)
    padded[:, : lines.shape[1]] = lines
    return pack(kind, padded.ravel()).tobytes()


def from_bytes(kind: str, data: bytes, shape: tuple[int, int], column_major: bool, stride: int) -> np.ndarray:
    words = np.frombuffer(data, np.uint64 if BITS[kind] == 64 else np.uint32)
    lines = shape[::-1] if column_major else shape
    elements = unpack(kind, words)[: lines[0] * stride].reshape(lines[0], stride)[:, : lines[1]]
    return elements.T if column_major else elements


@pytest.mark.parametrize("shape", WMMA)
def test_wmma_of_matrices_in_memory(matrix_kernels: Any, room: int, shape: Shape) -> None:
    m, n, k, a, c = shape
    rng = np.random.default_rng(m)
    shapes, kinds = ((m, k), (k, n), (m, n), (m, n)), (a, a, c, c)
    layouts = [(False, True, False, True)]
    if a not in ("s4", "u4", "b1"):
        layouts += [(True, False, True, False), (False, False, False, False), (True, True, True, True)]
    for columns in layouts:
        values = [random_elements(rng, t, s[0] * s[1]).reshape(s) for t, s in zip(kinds, shapes, strict=True)]
        lengths = [s[0] if column else s[1] for s, column in zip(shapes, columns, strict=True)]
        strides = [length + 128 // BITS[t] for length, t in zip(lengths, kinds, strict=True)]
        for i in range(3):
            data = to_bytes(kinds[i], values[i], columns[i], strides[i])
            ctypes.memmove(room + 2048 * i, data, len(data))
        pairs = [int(x) for pair in zip(columns, strides, strict=True) for x in pair]
        params = struct.pack("<11Q", descriptor(shape), room, *pairs, 0)
        error = matrix_kernels.launch("wmma_product", params=params)
        assert error.code == 0, error.text
        raw = from_bytes(c, ctypes.string_at(room + 6144, 2048), shapes[3], columns[3], strides[3])
        wanted = rounded(c, product(a, values[0], values[1]) + decode(c, values[2]))
        np.testing.assert_allclose(decode(c, raw), wanted, rtol=1e-12 if c == "f64" else 0)


def test_wmma_outside_shared_memory_is_reported(matrix_kernels: Any, room: int) -> None:
    params = struct.pack("<11Q", descriptor((16, 16, 16, "f16", "f32")), room, *(0, 16) * 4, 8192 - 256)
    error = matrix_kernels.launch("wmma_product", params=params)
    assert error.code == OUT_OF_BOUNDS


@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_ldmatrix_and_stmatrix(matrix_kernels: Any, room: int, count: int, transposed: int) -> None:
    source = np.random.default_rng(count).integers(0, 1 << 16, (4, 8, 8), dtype=np.uint16)
    ctypes.memmove(room, source.tobytes(), 512)
    params = struct.pack("<6Q", room, room + 512, room + 1024, count, transposed, 0)
    error = matrix_kernels.launch("matrix_round_trip", params=params)
    assert error.code == 0, error.text
    registers = np.frombuffer(ctypes.string_at(room + 512, 512), np.uint16).reshape(4, 8, 8)
    wanted = source.transpose(0, 2, 1) if transposed else source
    np.testing.assert_array_equal(registers[:count], wanted[:count])
    stored = np.frombuffer(ctypes.string_at(room + 1024, 512), np.uint16).reshape(32, 8)[::-1]
    np.testing.assert_array_equal(stored[: 8 * count], source.reshape(32, 8)[: 8 * count])


@pytest.mark.parametrize("offset, code", [(1 << 20, OUT_OF_BOUNDS), (2, MISALIGNED)])
def test_ldmatrix_reports_a_bad_row(matrix_kernels: Any, room: int, offset: int, code: int) -> None:
    params = struct.pack("<6Q", room, room + 512, room + 1024, 4, 0, offset)
    error = matrix_kernels.launch("matrix_round_trip", params=params)
    assert (error.code, error.lanes) == (code, 1)
