"""Rare integer and video instructions of the runtime, against bit-by-bit Python from the PTX ISA."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

LANES = 32
Operations = Any  # of conftest.py
U32 = st.integers(0, 2**32 - 1)
WORDS = st.lists(U32, min_size=LANES, max_size=LANES)
SMALL = st.lists(st.one_of(st.integers(0, 70), U32), min_size=LANES, max_size=LANES)
quick = settings(max_examples=60)


def array(kind: str, values: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.array(values, dtype=kind)


def bit(value: int, position: int) -> int:
    return value >> position & 1


def number(value: int, bits: int, is_signed: bool) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if is_signed and value >> (bits - 1) else value


def run(ops: Operations, name: str, out_bits: int, *operands: tuple[int, list[int]] | int) -> list[int]:
    """Results of all lanes; operands are (bits, values) or plain integers."""
    dst = array(f"u{out_bits // 8}", [0] * LANES)
    given_operands = [o if isinstance(o, int) else array(f"u{o[0] // 8}", o[1]) for o in operands]
    ops.plain(name, dst, *given_operands)
    return [int(v) for v in dst]


BYTE_ORDERS = {  # prmt: bytes of the result, highest first, for selector 0 … 3
    1: ("3210", "4321", "5432", "6543"),
    2: ("5670", "6701", "7012", "0123"),
    3: ("0000", "1111", "2222", "3333"),
    4: ("3210", "3211", "3222", "3333"),
    5: ("0000", "1110", "2210", "3210"),
    6: ("1010", "3232", "1010", "3232"),
}


@quick
@given(a=WORDS, b=WORDS, c=WORDS, mode=st.integers(0, 6))
def test_prmt(ops: Operations, a: list[int], b: list[int], c: list[int], mode: int) -> None:
    got = run(ops, "rt_prmt", 32, (32, a), (32, b), (32, c), mode)
    for i in range(LANES):
        source = a[i].to_bytes(4, "little") + b[i].to_bytes(4, "little")
        if mode == 0:
            picks = [c[i] >> 4 * k & 15 for k in range(4)]
            wanted = bytes(source[p & 7] if p < 8 else 255 * (source[p & 7] >> 7) for p in picks)
        else:
            wanted = bytes(source[int(p)] for p in reversed(BYTE_ORDERS[mode][c[i] & 3]))
        assert got[i].to_bytes(4, "little") == wanted


@quick
@given(a=WORDS, b=WORDS, c=WORDS, a_signed=st.booleans(), b_signed=st.booleans(), high=st.booleans())
def test_dot_products(
    ops: Operations, *, a: list[int], b: list[int], c: list[int], a_signed: bool, b_signed: bool, high: bool
) -> None:
    four = run(ops, "rt_dp4a", 32, (32, a), (32, b), (32, c), int(a_signed), int(b_signed))
    two = run(ops, "rt_dp2a", 32, (32, a), (32, b), (32, c), int(a_signed), int(b_signed), int(high))
    for i in range(LANES):
        bytes_b = [number(b[i] >> 8 * k, 8, b_signed) for k in range(4)]
        sum4 = c[i] + sum(number(a[i] >> 8 * k, 8, a_signed) * bytes_b[k] for k in range(4))
        sum2 = c[i] + sum(number(a[i] >> 16 * k, 16, a_signed) * bytes_b[k + 2 * high] for k in range(2))
        assert (four[i], two[i]) == (sum4 % 2**32, sum2 % 2**32)


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
@quick
@given(a=WORDS, b=SMALL, c=SMALL)
def test_bit_field_extract(ops: Operations, kind: str, a: list[int], b: list[int], c: list[int]) -> None:
    bits = int(kind[1:])
    values = a if bits == 32 else [v * 0x1_0003_0001 % 2**64 for v in a]
    got = run(ops, f"rt_bfe_{kind}", bits, (bits, values), (32, b), (32, c))
    for i in range(LANES):
        position, length = b[i] & 255, c[i] & 255
        fill = 0
        if kind[0] == "s" and length:
            fill = bit(values[i], min(position + length - 1, bits - 1))
        wanted = sum(
            (bit(values[i], position + k) if k < length and position + k < bits else fill) << k
            for k in range(bits)
        )
        assert got[i] == wanted


@pytest.mark.parametrize("bits", [32, 64])
@quick
@given(a=WORDS, b=WORDS, c=SMALL, d=SMALL)
def test_bit_field_insert(
    ops: Operations, *, bits: int, a: list[int], b: list[int], c: list[int], d: list[int]
) -> None:
    wide_a, wide_b = ([v * (1 if bits == 32 else 0x1_0000_0101) % 2**bits for v in x] for x in (a, b))
    got = run(ops, f"rt_bfi_b{bits}", bits, (bits, wide_a), (bits, wide_b), (32, c), (32, d))
    for i in range(LANES):
        position, length, wanted = c[i] & 255, d[i] & 255, wide_b[i]
        for k in range(min(length, max(bits - position, 0))):
            wanted = wanted & ~(1 << position + k) | bit(wide_a[i], k) << position + k
        assert got[i] == wanted


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
@quick
@given(a=SMALL, negate=st.booleans(), shift_amount=st.booleans())
def test_find_leading_bit(ops: Operations, kind: str, a: list[int], negate: bool, shift_amount: bool) -> None:
    bits = int(kind[1:])
    values = [(~v if negate else v * (2**31 + 1)) % 2**bits for v in a]
    got = run(ops, f"rt_bfind_{kind}", 32, (bits, values), int(shift_amount))
    for i in range(LANES):
        value = values[i]
        if kind[0] == "s" and bit(value, bits - 1):
            value = ~value % 2**bits
        wanted = 0xFFFFFFFF if value == 0 else value.bit_length() - 1
        if shift_amount and value:
            wanted = bits - 1 - wanted
        assert got[i] == wanted


@quick
@given(
    a=WORDS,
    b=st.lists(st.integers(0, 31), min_size=LANES, max_size=LANES),
    c=st.lists(st.one_of(st.integers(-33, 33), st.just(-(2**31))), min_size=LANES, max_size=LANES),
)
def test_find_nth_set_bit(ops: Operations, a: list[int], b: list[int], c: list[int]) -> None:
    got = run(ops, "rt_fns", 32, (32, a), (32, b), (32, [v % 2**32 for v in c]))
    for i in range(LANES):
        path = [b[i]] if c[i] == 0 else range(b[i], 32) if c[i] > 0 else range(b[i], -1, -1)
        found = [p for p in path if bit(a[i], p)]
        index = max(abs(c[i]), 1) - 1
        assert got[i] == (found[index] if index < len(found) else 0xFFFFFFFF)


@quick
@given(a=WORDS, b=SMALL, flag=st.booleans(), is_signed=st.booleans())
def test_szext_and_bmsk(ops: Operations, a: list[int], b: list[int], flag: bool, is_signed: bool) -> None:
    extended = run(ops, "rt_szext", 32, (32, a), (32, b), int(flag), int(is_signed))
    masks = run(ops, "rt_bmsk", 32, (32, [v % 80 for v in a]), (32, b), int(not flag))
    for i in range(LANES):
        width = b[i] & 31 if flag else min(b[i], 32)
        assert extended[i] == (number(a[i], width, is_signed) % 2**32 if width else 0)
        position, length = a[i] % 80, b[i]
        if flag:
            position, length = position & 31, length & 31
        assert masks[i] == sum(1 << k for k in range(32) if position <= k < position + length)
