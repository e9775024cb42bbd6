"""Video instructions of the runtime (rt_video), against Python that follows the PTX ISA."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

LANES = 32
Operations = Any  # of conftest.py
U32 = st.integers(0, 2**32 - 1)
EDGES = st.sampled_from([0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1])
WORDS = st.lists(st.one_of(EDGES, U32), min_size=LANES, max_size=LANES)
OPERATIONS = ["add", "sub", "absdiff", "min", "max", "set", "avrg", "shl", "shr", "mad"]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
PARTS = [(0, 32), (0, 8), (8, 8), (16, 8), (24, 8), (0, 16), (16, 16)]  # by scalar selector
quick = settings(max_examples=120)


def array(kind: str, values: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.array(values, dtype=kind)


def number(value: int, bits: int, is_signed: bool) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if is_signed and value >> (bits - 1) else value


def clamp(value: int, bits: int, is_signed: bool) -> int:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    return min(max(value, low), high)


def primary(op: str, x: int, y: int, comparison: int, wrap: bool) -> int:
    amount = y % 32 if wrap else min(y, 32)
    return {
        "add": x + y,
        "sub": x - y,
        "absdiff": abs(x - y),
        "min": min(x, y),
        "max": max(x, y),
        "set": int(COMPARISONS[comparison](x, y)),
        "avrg": x + y + (x + y >= 0) >> 1,
        "shl": x << amount if amount >= 0 else 0,
        "shr": x >> amount if amount >= 0 else 0,
    }[op]


def run(ops: Operations, a: list[int], b: list[int], c: list[int], desc: int) -> list[int]:
    dst = array("u4", [0] * LANES)
    ops.plain("rt_video", dst, array("u4", a), array("u4", b), array("u4", c), desc)
    return [int(v) for v in dst]


@quick
@given(
    a=WORDS,
    b=WORDS,
    c=WORDS,
    op=st.sampled_from([o for o in OPERATIONS if o not in ("avrg", "mad")]),
    signs=st.tuples(*[st.booleans()] * 3),
    sat=st.booleans(),
    second=st.integers(0, 3),
    comparison=st.integers(0, 5),
    wrap=st.booleans(),
    selectors=st.tuples(*[st.integers(0, 6)] * 3),
)
def test_scalar(
    ops: Operations,
    *,
    a: list[int],
    b: list[int],
    c: list[int],
    op: str,
    signs: tuple[bool, bool, bool],
    sat: bool,
    second: int,
    comparison: int,
    wrap: bool,
    selectors: tuple[int, int, int],
) -> None:
    a_signed, b_signed, d_signed = signs
    a_part, b_part, d_part = selectors
    if second:
        d_part = 0  # an instruction either merges or has a secondary operation
    if op in ("shl", "shr"):
        b_signed = False
    if op == "set":
        sat = d_signed = False
    desc = (
        OPERATIONS.index(op)
        | a_signed << 6
        | b_signed << 7
        | d_signed << 8
        | sat << 9
        | second << 10
        | comparison << 12
        | wrap << 15
        | a_part << 24
        | b_part << 40
        | d_part << 56
    )
    got = run(ops, a, b, c, desc)
    for i in range(LANES):
        x = number(a[i] >> PARTS[a_part][0], PARTS[a_part][1], a_signed)
        y = number(b[i] >> PARTS[b_part][0], PARTS[b_part][1], b_signed)
        value = primary(op, x, y, comparison, wrap)
        position, width = PARTS[d_part]
        if sat:
            value = clamp(value, width, d_signed)
        if second:
            x, y = number(value, 32, d_signed), number(c[i], 32, d_signed)
            wanted = [x + y, min(x, y), max(x, y)][second - 1] % 2**32
        else:
            ones = (1 << width) - 1
            kept = c[i] & ~(ones << position) if d_part else 0
            wanted = kept | (value & ones) << position
        assert got[i] == wanted


def test_a_large_number_shifted_far_saturates(ops: Operations) -> None:
    """vshl.u32.u32.u32.sat.clamp by 32: the result of 64 bits is no negative number."""
    words = [2**32 - 1, 2**31, 2**31 - 1, 0] * 8
    saturated = run(ops, words, [32] * LANES, [0] * LANES, OPERATIONS.index("shl") | 1 << 9)
    assert saturated == [2**32 - 1, 2**32 - 1, 2**32 - 1, 0] * 8
    assert run(ops, words, [32] * LANES, [0] * LANES, OPERATIONS.index("shl")) == [0] * LANES


@quick
@given(
    a=WORDS,
    b=WORDS,
    c=WORDS,
    op=st.sampled_from(OPERATIONS[:7]),
    count=st.sampled_from([2, 4]),
    signs=st.tuples(*[st.booleans()] * 3),
    sat=st.booleans(),
    add=st.booleans(),
    comparison=st.integers(0, 5),
    picks=st.lists(st.integers(0, 7), min_size=8, max_size=8),
    mask=st.integers(0, 15),
)
def test_simd(
    ops: Operations,
    *,
    a: list[int],
    b: list[int],
    c: list[int],
    op: str,
    count: int,
    signs: tuple[bool, bool, bool],
    sat: bool,
    add: bool,
    comparison: int,
    picks: list[int],
    mask: int,
) -> None:
    a_signed, b_signed, d_signed = signs
    width = 32 // count
    ones = (1 << width) - 1
    a_picks, b_picks = ([p % (2 * count) for p in half[:count]] for half in (picks[:4], picks[4:]))
    desc = (
        OPERATIONS.index(op)
        | count // 2 << 4
        | a_signed << 6
        | b_signed << 7
        | d_signed << 8
        | sat << 9
        | add << 10
        | comparison << 12
        | mask << 56
    )
    for k in range(count):
        desc |= a_picks[k] << 24 + 4 * k | b_picks[k] << 40 + 4 * k
    got = run(ops, a, b, c, desc)
    for i in range(LANES):
        both = b[i] << 32 | a[i]
        wanted = c[i] if add else 0
        for k in range(count):
            x = number(both >> width * a_picks[k], width, a_signed)
            y = number(both >> width * b_picks[k], width, b_signed)
            value = primary(op, x, y, comparison, False)
            if sat:
                value = clamp(value, width, d_signed)
            if add:
                wanted += value if mask >> k & 1 else 0
            else:
                wanted |= (value & ones if mask >> k & 1 else c[i] >> width * k & ones) << width * k
        assert got[i] == wanted % 2**32


@quick
@given(
    a=WORDS,
    b=WORDS,
    c=WORDS,
    signs=st.tuples(st.booleans(), st.booleans()),
    sat=st.booleans(),
    scale=st.integers(0, 2),
    extra=st.sampled_from(["", "po", "a", "b", "ab", "c"]),
    selectors=st.tuples(st.integers(0, 6), st.integers(0, 6)),
)
def test_multiply_add(
    ops: Operations,
    *,
    a: list[int],
    b: list[int],
    c: list[int],
    signs: tuple[bool, bool],
    sat: bool,
    scale: int,
    extra: str,
    selectors: tuple[int, int],
) -> None:
    negated = {letter: extra != "po" and letter in extra for letter in "abc"}
    desc = (
        9
        | signs[0] << 6
        | signs[1] << 7
        | sat << 9
        | scale << 16
        | (extra == "po") << 18
        | negated["a"] << 19
        | negated["b"] << 20
        | negated["c"] << 21
        | selectors[0] << 24
        | selectors[1] << 40
    )
    got = run(ops, a, b, c, desc)
    negative_product = negated["a"] != negated["b"]
    is_signed = any(signs) or negative_product or negated["c"]
    for i in range(LANES):
        x, y = (
            number(v >> PARTS[s][0], PARTS[s][1], g)
            for v, s, g in zip((a[i], b[i]), selectors, signs, strict=True)
        )
        product = -x * y if negative_product else x * y
        # A negated c is complemented in 32 bits and then extended.
        addend = number(~c[i], 32, is_signed) + 1 if negated["c"] else number(c[i], 32, is_signed)
        value = product + addend + (extra == "po") >> (0, 7, 15)[scale]
        assert got[i] == (clamp(value, 32, is_signed) if sat else value) % 2**32
