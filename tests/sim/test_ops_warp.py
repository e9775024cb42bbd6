"""Warp-wide instructions and atomics of the runtime, against plain Python that follows the PTX ISA."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

LANES = 32
FULL = 0xFFFFFFFF
Operations = Any  # of conftest.py
U32 = st.integers(0, 2**32 - 1)
MASK = st.one_of(st.just(FULL), st.integers(1, FULL))
WORDS = st.lists(st.one_of(st.integers(0, 3), U32), min_size=LANES, max_size=LANES)
quick = settings(max_examples=60)


def array(kind: str, values: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.array(values, dtype=kind)


def lanes_of(mask: int) -> list[int]:
    return [lane for lane in range(LANES) if mask >> lane & 1]


def signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


# ---- shfl ----


def shuffled(mode: int, mask: int, a: list[int], b: list[int], c: list[int]) -> tuple[list[int], int]:
    """The ISA's pseudo-code."""
    result, predicates = list(a), 0
    for lane in lanes_of(mask):
        offset, clamp, segment = b[lane] % 32, c[lane] % 32, c[lane] // 256 % 32
        most = (lane & segment) | (clamp & (31 - segment))
        indexed = (lane & segment) | (offset & (31 - segment))
        source = [lane - offset, lane + offset, lane ^ offset, indexed][mode]
        if source >= most if mode == 0 else source <= most:
            predicates |= 1 << lane
            result[lane] = a[source] if mask >> source & 1 else 0  # as hardware gives it
    return result, predicates


@quick
@given(
    mode=st.integers(0, 3),
    mask=MASK,
    a=WORDS,
    b=st.lists(st.integers(0, 63), min_size=LANES, max_size=LANES),
    width=st.sampled_from([1, 2, 4, 8, 16, 32]),
    wild=st.one_of(st.none(), U32),
)
def test_shuffles_follow_the_isa(
    ops: Operations, *, mode: int, mask: int, a: list[int], b: list[int], width: int, wild: int | None
) -> None:
    c = [wild if wild is not None else (32 - width) << 8 | (0 if mode == 0 else 31)] * LANES
    dst, predicates = array("u4", a), array("u4", [0])
    ops.call("rt_shfl", mask, mode, dst, predicates, array("u4", a), array("u4", b), array("u4", c))
    wanted, wanted_predicates = shuffled(mode, mask, a, b, c)
    assert [int(dst[i]) for i in lanes_of(mask)] == [wanted[i] for i in lanes_of(mask)]
    assert int(predicates[0]) == wanted_predicates


# ---- vote, match, redux: results per group of lanes with one member mask ----


def grouped(mask: int, tile: int) -> list[int]:
    """Member masks of tiles of `tile` lanes."""
    return [((1 << tile) - 1) << lane // tile * tile & mask for lane in range(LANES)]


TILE = st.sampled_from([4, 8, 16, 32])


@quick
@given(mask=MASK, predicates=U32, tile=TILE)
def test_votes(ops: Operations, mask: int, predicates: int, tile: int) -> None:
    members = grouped(mask, tile)
    wanted = {0: 0, 1: 0, 2: 0}
    for lane in lanes_of(mask):
        votes = predicates & members[lane]
        for mode, result in ((0, votes == members[lane]), (1, votes != 0), (2, votes in (0, members[lane]))):
            wanted[mode] |= result << lane
    for mode, expected in wanted.items():
        dst = array("u4", [0] * LANES)
        ops.call("rt_vote", mask, mode, array("u4", members), predicates, dst)
        assert int(dst[0]) == expected
    dst = array("u4", [0] * LANES)
    ops.call("rt_vote", mask, 3, array("u4", members), predicates, dst)
    assert all(int(dst[i]) == predicates & members[i] for i in lanes_of(mask))


@pytest.mark.parametrize("bits", [32, 64])
@quick
@given(mask=MASK, a=WORDS, tile=TILE)
def test_matches(ops: Operations, bits: int, mask: int, a: list[int], tile: int) -> None:
    values = a if bits == 32 else [v << 31 for v in a]
    members, kind = grouped(mask, tile), f"u{bits // 8}"
    dst, predicates = array("u4", [0] * LANES), array("u4", [0])
    ops.call(f"rt_match_any_b{bits}", mask, array("u4", members), dst, array(kind, values))
    for lane in lanes_of(mask):
        assert int(dst[lane]) == sum(1 << i for i in lanes_of(members[lane]) if values[i] == values[lane])
    ops.call(f"rt_match_all_b{bits}", mask, array("u4", members), dst, predicates, array(kind, values))
    for lane in lanes_of(mask):
        same = len({values[i] for i in lanes_of(members[lane])}) == 1
        assert int(dst[lane]) == (members[lane] if same else 0)
        assert int(predicates[0]) >> lane & 1 == same


REDUX: list[Callable[[int, int], int]] = [
    lambda x, y: (x + y) % 2**32,
    lambda x, y: min(x, y, key=signed),
    lambda x, y: max(x, y, key=signed),
    min,
    max,
    lambda x, y: x & y,
    lambda x, y: x | y,
    lambda x, y: x ^ y,
]


@quick
@given(mask=MASK, a=WORDS, tile=TILE, op=st.integers(0, 7))
def test_redux(ops: Operations, mask: int, a: list[int], tile: int, op: int) -> None:
    members, dst = grouped(mask, tile), array("u4", [0] * LANES)
    ops.call("rt_redux", mask, op, array("u4", members), dst, array("u4", a))
    for lane in lanes_of(mask):
        assert int(dst[lane]) == reduce(REDUX[op], [a[i] for i in lanes_of(members[lane])])


def test_float_redux_orders_zeros_and_heeds_nan(ops: Operations) -> None:
    values = np.zeros(LANES, np.float32)
    values[3], values[5] = -0.0, np.nan
    dst, members = np.empty(LANES, np.float32), array("u4", [FULL] * LANES)
    ops.call("rt_redux_f32", FULL, 0, 0, members, dst, values)
    assert np.signbit(dst).all()
    assert not np.isnan(dst).any()
    ops.call("rt_redux_f32", FULL, 1, 2, members, dst, values)
    assert np.isnan(dst).all()


# ---- atomics ----

ATOMICS: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda old, a, _: old + a,
    "min": lambda old, a, _: min(old, a),
    "max": lambda old, a, _: max(old, a),
    "inc": lambda old, a, _: 0 if old >= a else old + 1,
    "dec": lambda old, a, _: a if old == 0 or old > a else old - 1,
    "exch": lambda _, a, __: a,
    "cas": lambda old, a, b: b if old == a else old,
    "and": lambda old, a, _: old & a,
    "or": lambda old, a, _: old | a,
    "xor": lambda old, a, _: old ^ a,
}
KINDS = {
    "add": ["u32", "s32", "u64", "s64"],
    "min": ["u32", "s32", "u64", "s64"],
    "max": ["u32", "s32", "u64", "s64"],
    "inc": ["u32"],
    "dec": ["u32"],
    "exch": ["b32", "b64"],
    "cas": ["b16", "b32", "b64"],
    "and": ["b32", "b64"],
    "or": ["b32", "b64"],
    "xor": ["b32", "b64"],
}


@pytest.mark.parametrize("op, kind", [(op, kind) for op, kinds in KINDS.items() for kind in kinds])
@settings(max_examples=25)
@given(
    mask=MASK,
    a=WORDS,
    b=WORDS,
    start=st.lists(st.integers(0, 4), min_size=4, max_size=4),
    where=st.lists(st.integers(0, 3), min_size=LANES, max_size=LANES),
    one_place=st.booleans(),
    in_shared=st.booleans(),
    wants_result=st.booleans(),
)
def test_integer_atomics_equal_the_serial_order(
    ops: Operations,
    *,
    op: str,
    kind: str,
    mask: int,
    a: list[int],
    b: list[int],
    start: list[int],
    where: list[int],
    one_place: bool,
    in_shared: bool,
    wants_result: bool,
) -> None:
    bits, dtype = int(kind[1:]), f"u{int(kind[1:]) // 8}"
    where = [2] * LANES if one_place else where
    a, b = ([v % 2**bits for v in values] for values in (a, b))

    def view(value: int) -> int:
        return signed(value, bits) if kind[0] == "s" else value

    memory, results = list(start), {}
    for lane in lanes_of(mask):
        results[lane] = memory[where[lane]]
        new = ATOMICS[op](view(memory[where[lane]]), view(a[lane]), view(b[lane]))
        memory[where[lane]] = new % 2**bits

    target = array(dtype, start)
    ops.set_shared(target if in_shared else None)
    dst = array(dtype, [0] * LANES)
    addresses = array("u8", [target.ctypes.data + w * target.itemsize for w in where])
    ops.call(
        f"rt_atom_{op}_{kind}",
        mask,
        dst if wants_result else None,
        addresses,
        array(dtype, a),
        array(dtype, b),
    )
    assert target.tolist() == memory
    if wants_result:
        assert {lane: int(dst[lane]) for lane in results} == results


@pytest.mark.parametrize("kind", ["f32", "f64", "f16", "f16x2", "bf16", "bf16x2"])
@settings(max_examples=25)
@given(mask=MASK, seed=st.integers(0, 2**32 - 1), in_shared=st.booleans())
def test_float_atomics_round_like_one_addition_per_lane(
    ops: Operations, kind: str, mask: int, seed: int, in_shared: bool
) -> None:
    random = np.random.default_rng(seed)
    parts = 2 if kind.endswith("x2") else 1
    base = kind.removesuffix("x2")
    values = random.normal(size=(LANES, parts)) * 10.0 ** random.integers(-3, 3, (LANES, parts))
    start = random.normal(size=(3, parts))

    def rounded(x: np.ndarray) -> np.ndarray:
        if base != "bf16":
            return x.astype({"f16": np.float16, "f32": np.float32, "f64": np.float64}[base])
        word = x.astype(np.float32).view(np.uint32)
        return ((word + 0x7FFF + (word >> 16 & 1)) & 0xFFFF0000).view(np.float32)

    def bits(x: np.ndarray) -> np.ndarray:
        if base == "bf16":
            return np.ascontiguousarray((x.view(np.uint32) >> 16).astype(np.uint16))
        return np.ascontiguousarray(x)

    values, start = rounded(values), rounded(start)
    where = random.integers(0, 3, LANES)
    wanted, results = start.copy(), np.zeros_like(values)
    for lane in lanes_of(mask):
        results[lane] = wanted[where[lane]]
        # One addition in a wider format, rounded once.
        wanted[where[lane]] = rounded(
            wanted[where[lane]].astype(np.float64 if base != "bf16" else np.float32) + values[lane]
        )
    target, dst = bits(start), bits(np.zeros_like(values))
    ops.set_shared(target if in_shared else None)
    step = target.itemsize * parts
    ops.call(
        f"rt_atom_add_{kind}", mask, dst, array("u8", target.ctypes.data + where * step), bits(values), None
    )
    assert target.tobytes() == bits(wanted).tobytes()
    for lane in lanes_of(mask):
        assert dst[lane].tobytes() == bits(results)[lane].tobytes()


def test_float_atomics_flush_denormals_in_global_memory_only(ops: Operations) -> None:
    tiny = np.full(LANES, 1e-40, np.float32)
    for in_shared in (False, True):
        target = np.zeros(1, np.float32)
        ops.set_shared(target if in_shared else None)
        ops.call("rt_atom_add_f32", 1, None, array("u8", [target.ctypes.data] * LANES), tiny, None)
        assert (target[0] != 0) == in_shared


def test_elect_picks_the_lowest_lane_of_each_group(ops: Operations) -> None:
    dst, predicates = array("u4", [0] * LANES), array("u4", [0])
    ops.call("rt_elect", 0xFFFFFFF0, array("u4", grouped(0xFFFFFFF0, 16)), dst, predicates)
    assert int(predicates[0]) == 1 << 4 | 1 << 16
    assert int(dst[7]) == 4


def test_shuffles_without_a_predicate(ops: Operations) -> None:
    ops.call("rt_shfl", FULL, 2, array("u4", [0] * LANES), None, *(array("u4", [31] * LANES),) * 3)
