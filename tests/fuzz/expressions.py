"""Random expressions with the same value in CUDA and in C++.

Only operations with one right answer are used: integer arithmetic wraps (it is done unsigned),
divisors are never zero, shift counts are in range, float conversions saturate through CUDA's
intrinsics, fused multiply-add is explicit, and NaNs are made alike before their bits are seen.
An expression is asked for with a `Reach`: how far its value must be the same (thread, warp, block).
"""

from __future__ import annotations

import enum
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.fuzz.scalars import F32, F64, FLOATS, I16, I32, I64, INTEGERS, U8, U32, U64, Scalar, literal


class Reach(enum.IntEnum):
    """How widely a value is known to be the same."""

    THREAD = 0
    WARP = 1
    BLOCK = 2


@dataclass(frozen=True)
class Variable:
    name: str
    kind: Scalar
    reach: Reach
    mutable: bool = True


@dataclass(frozen=True)
class Array:
    """Indexable memory; `length` is a power of two."""

    name: str
    kind: Scalar
    length: int
    space: str  # "global", "shared", "local", "const"


@dataclass(frozen=True)
class Routine:
    """A noinline device function of scalars."""

    name: str
    result: Scalar
    arguments: tuple[Scalar, ...]


@dataclass
class Scope:
    """What is visible at one point of a kernel. Children see their parents."""

    variables: list[Variable] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    routines: list[Routine] = field(default_factory=list)
    in_kernel: bool = True  # p, in and the thread's indices exist

    def child(self) -> Scope:
        return Scope(list(self.variables), list(self.arrays), self.routines, self.in_kernel)


GLOBALS = (
    Array("in.b", U8, 65536, "global"),
    Array("in.h", I16, 65536, "global"),
    Array("in.u", U32, 65536, "global"),
    Array("in.l", I64, 65536, "global"),
    Array("in.f", F32, 65536, "global"),
    Array("in.d", F64, 65536, "global"),
)
UNIFORM_LEAVES: tuple[tuple[str, Scalar], ...] = (
    ("p.wrap", U32), ("p.near_max", I32), ("p.stride", U32), ("p.offset", I32), ("p.wide", U64),
    ("p.scale", F32), ("p.factor", F64), ("p.byte", U8), ("p.half", I16), ("p.pair.a", U32),
    ("p.pair.b", I64), ("p.words[1]", U32), ("p.trips[2]", I32), ("blockIdx.x", U32),
    ("blockIdx.y", U32), ("blockDim.x", U32), ("gridDim.x", U32), ("blockDim.y", U32),
)  # fmt: skip
# Values linear in the thread's index, with and without wrap-around before they are widened.
LINEAR_LEAVES: tuple[tuple[str, Scalar], ...] = (
    ("lin", U32), ("tx", U32), ("ty", U32), ("tz", U32), ("gid", U32), ("lane", U32),
    ("(lin - 1u)", U32), ("(tx - 5u)", U32), ("(lin + p.wrap)", U32), ("(tx * p.stride)", U32),
    ("(i32)(lin + (u32)p.near_max)", I32), ("((i32)lin - 16)", I32), ("((i32)tx * 3 - 7)", I32),
    ("(lin * 0x08000001u)", U32), ("(tx * 0x10000000u + p.wrap)", U32), ("(u64)(lin - 3u)", U64),
    ("(i64)(i32)(tx + (u32)p.near_max)", I64), ("(u64)(lin + p.wrap)", U64), ("(u8)(tx * 9u)", U8),
    ("(i16)(lin * 1023u)", I16), ("(i64)((i32)lin - 8)", I64), ("((u64)lin * 0x100000001ull)", U64),
    ("(f32)lin", F32), ("(f32)((i32)tx - 9)", F32), ("(f64)gid", F64), ("(1u << (tx & 31u))", U32),
    ("(tx >> 2)", U32), ("(ty * blockDim.x + tx)", U32), ("(lin ^ 5u)", U32), ("(31u - lane)", U32),
    ("(lin & 3u)", U32), ("(lin % 7u)", U32), ("(lin / 3u)", U32), ("(u8)(0u - tx)", U8),
    ("(i64)((u64)(tx - 1u) << 3)", I64), ("(i32)(p.offset - (i32)lin)", I32),
)  # fmt: skip
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


class Expressions:
    """Makes expression texts from a seeded random source and a scope."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def make(self, kind: Scalar, scope: Scope, depth: int, reach: Reach = Reach.THREAD) -> str:
        if depth <= 0 or self.rng.random() < 0.12:
            return self.leaf(kind, scope, reach)
        sub: Callable[[Scalar], str] = lambda k: self.make(k, scope, depth - 1, reach)  # noqa: E731
        roll = self.rng.random()
        if roll < 0.08:
            return f"({self.condition(scope, depth - 1, reach)} ? {sub(kind)} : {sub(kind)})"
        if roll < 0.18:
            return self.convert(kind, scope, depth - 1, reach)
        if roll < 0.28:
            return self.read(kind, scope, depth - 1, reach)
        if roll < 0.32 and scope.routines:
            return self.call(kind, scope, depth, reach)
        return self.floating(kind, sub) if kind.floating else self.integer(kind, sub)

    # ---- leaves ----

    def leaf(self, kind: Scalar, scope: Scope, reach: Reach) -> str:
        choices: list[str] = []
        same = [v.name for v in scope.variables if v.kind is kind and v.reach >= reach]
        choices += same * 2
        if scope.in_kernel:
            choices += [text for text, k in UNIFORM_LEAVES if k is kind]
            if reach is Reach.THREAD:
                choices += [text for text, k in LINEAR_LEAVES if k is kind]
            if reach <= Reach.WARP and kind is U32:
                choices.append("warp")
        if not choices or self.rng.random() < 0.2:
            others = [v for v in scope.variables if v.reach >= reach]
            if others and self.rng.random() < 0.6:
                one = self.rng.choice(others)
                return self.cast(one.name, one.kind, kind)
            return literal(self.rng, kind)
        return self.rng.choice(choices)

    # ---- reads of memory ----

    def read(self, kind: Scalar, scope: Scope, depth: int, reach: Reach) -> str:
        arrays = list(scope.arrays)
        if scope.in_kernel:
            arrays += GLOBALS
        if reach > Reach.THREAD:  # local arrays differ between threads
            arrays = [a for a in arrays if a.space != "local"]
        if not arrays:
            return self.leaf(kind, scope, reach)
        fitting = [a for a in arrays if a.kind is kind]
        array = self.rng.choice(fitting if fitting and self.rng.random() < 0.7 else arrays)
        index = self.index(array, scope, depth, reach)
        return self.cast(f"{array.name}[{index}]", array.kind, kind)

    def index(self, array: Array, scope: Scope, depth: int, reach: Reach) -> str:
        """An index in range, in one of the shapes that address analysis has to get right."""
        mask = f"{array.length - 1:#x}"
        plain = f"{self.make(U32, scope, min(depth, 2), reach)} & {mask}u"
        if reach > Reach.THREAD or not scope.in_kernel or array.length < 65536:
            return plain
        stride, shift = self.rng.randrange(0, 9), self.rng.randrange(0, 600)
        small = self.make(U32, scope, 1, reach)
        return self.rng.choice((
            plain, plain,
            f"lin * {stride}u + {shift}u",
            f"(i32)lin * {stride} + {shift}",
            f"gid + {shift}u",
            f"{30000 + shift} - (i32)tx * {stride}",
            f"(u64)gid * {stride} + {shift}",
            f"tx * {stride}u + ty * blockDim.x + {shift}u",
            f"(u8)(lin * {stride}u + {small})",
            f"(u16)(tx * {stride}u + {small})",
            f"((u64)(lin + p.wrap) + {shift}ull) & {mask}ull",
            f"((u64)(i64)(i32)(lin + (u32)p.near_max) >> 3) & {mask}ull",
            f"(u32)(32768 + (i32)({small} & 0x7fffu) - 0x4000)",
            f"(lin - {shift & 31}u) < 2000u ? lin - {shift & 31}u : {shift}u",
            f"(tx ^ {shift & 31}u) + {shift}u",
            f"(tx >> 1) * {stride}u + {shift}u",
            "blockIdx.x * 16u + (lin & 15u)",
            f"p.stride * lin + {shift}u",
        ))  # fmt: skip

    # ---- conversions and calls ----

    def cast(self, text: str, source: Scalar, target: Scalar) -> str:
        if source is target:
            return text
        if source.floating and target.floating:
            return f"({target.name})({text})"
        if source.floating:
            return self.to_integer(text, source, target)
        return f"({target.name})({text})"

    def to_integer(self, text: str, source: Scalar, target: Scalar) -> str:
        mode = self.rng.choice(("rz", "rz", "rn", "ru", "rd"))
        word = {"i32": "int", "u32": "uint", "i64": "ll", "u64": "ull"}.get(target.name)
        origin = "float" if source is F32 else "double"
        if word is None:  # 8 and 16 bits: through int, which saturates; the rest is cut off
            return f"({target.name})__{origin}2int_{mode}({text})"
        return f"__{origin}2{word}_{mode}({text})"

    def convert(self, kind: Scalar, scope: Scope, depth: int, reach: Reach) -> str:
        source = self.rng.choice([k for k in (*INTEGERS, *FLOATS) if k is not kind])
        text = self.make(source, scope, depth, reach)
        if not kind.floating:
            if source.floating and kind.bits == source.bits and self.rng.random() < 0.4:
                return f"({kind.name})bits_of({text})"
            return self.cast(text, source, kind)
        if not source.floating and source.bits == kind.bits and self.rng.random() < 0.3:
            maker = "__int_as_float((i32)" if kind is F32 else "__longlong_as_double((i64)"
            return f"{maker}({text}))"
        if self.rng.random() < 0.3:
            mode = self.rng.choice(("rn", "rz", "ru", "rd"))
            word = {"i32": "int", "u32": "uint", "i64": "ll", "u64": "ull", "f64": "double"}.get(source.name)
            if kind is F32 and word is not None:
                return f"__{word}2float_{mode}({text})"
            if kind is F64 and word in ("ll", "ull"):
                return f"__{word}2double_{mode}({text})"
        return self.cast(text, source, kind)

    def call(self, kind: Scalar, scope: Scope, depth: int, reach: Reach) -> str:
        routine = self.rng.choice(scope.routines)
        arguments = ", ".join(self.make(a, scope, min(depth - 1, 1), reach) for a in routine.arguments)
        return self.cast(f"{routine.name}({arguments})", routine.result, kind)

    # ---- conditions ----

    def condition(self, scope: Scope, depth: int, reach: Reach = Reach.THREAD) -> str:
        roll = self.rng.random()
        if depth > 0 and roll < 0.15:
            operator = self.rng.choice(("&&", "||"))
            return f"({self.condition(scope, depth - 1, reach)} {operator} {self.condition(scope, depth - 1, reach)})"
        if depth > 0 and roll < 0.2:
            return f"(!{self.condition(scope, depth - 1, reach)})"
        if scope.in_kernel and reach is Reach.THREAD and roll < 0.4:  # shapes that real kernels have
            return self.rng.choice((
                f"(lin < {self.rng.randrange(1, 64)}u)", "((lin & 1u) == 0u)", "(lane < 16u)", "(tx == 0u)",
                f"((lin % {self.rng.randrange(2, 6)}u) == 1u)", "((lin - 1u) < 7u)", "(ty < tx)",
                f"(in.u[lin] & {1 << self.rng.randrange(5)}u)", "((i32)lin - 20 < p.offset)",
            ))  # fmt: skip
        kind = self.rng.choice((I32, U32, U32, I32, F32, F64, I64, U64, U8, I16))
        left, right = self.make(kind, scope, depth, reach), self.make(kind, scope, min(depth, 1), reach)
        if not kind.floating and self.rng.random() < 0.3:  # keep both outcomes likely
            return f"(({left} & {self.rng.choice((1, 2, 4, 5, 8))}) != 0)"
        return f"({left} {self.rng.choice(COMPARISONS)} {right})"

    # ---- operations ----

    def integer(self, kind: Scalar, sub: Callable[[Scalar], str]) -> str:
        wide, name = kind.unsigned_name, kind.name
        a, b = sub(kind), sub(kind)
        options = [
            f"({name})(({wide}){a} + ({wide}){b})",
            f"({name})(({wide}){a} - ({wide}){b})",
            f"({name})(({wide}){a} * ({wide}){b})",
            f"({name})({a} {self.rng.choice('&|^')} {b})",
            f"({name})(({wide}){a} * {self.rng.randrange(2, 20)}u + ({wide}){b})",
            f"({name})~{a}",
            f"({name})(0u - ({wide}){a})",
            f"({name})(({wide}){a} << ({b} & {kind.bits - 1}))",
            f"({name})({a} >> ({b} & {kind.bits - 1}))",
            f"({name})({a} >> {self.rng.randrange(kind.bits)})",
            f"({name})({a} < {b} ? {a} : {b})",
            f"({name})({sub(F32)} < {sub(F32)})",
            f"({name})(({a} & {self.rng.choice((1, 3, 6))}) ? {b} : {a})",
        ]
        if self.rng.random() < 0.35:
            options = list(self.division(kind, a, b))
        elif kind.bits == 32 and self.rng.random() < 0.45:
            options = [f"({name})({text})" for text in self.intrinsics32(a, b, sub)]
        elif kind.bits == 64 and self.rng.random() < 0.45:
            options = [f"({name})({text})" for text in self.intrinsics64(a, b, sub)]
        return f"({self.rng.choice(options)})"

    def division(self, kind: Scalar, a: str, b: str) -> Sequence[str]:
        operator, name = self.rng.choice("/%"), kind.name
        constant = self.rng.choice((2, 3, 5, 7, 10, 16, 100))
        if kind.signed:
            return (
                f"({name})({a} {operator} (({b} & 0x3f) + 1))",
                f"({name})({a} {operator} (-2 - ({b} & 0x1f)))",
                f"({name})({a} {operator} {constant})",
            )
        return (
            f"({name})({a} {operator} ({name})({b} | 1u))",
            f"({name})({b} != 0u ? {a} {operator} {b} : {a})",
            f"({name})({a} {operator} {constant}u)",
        )

    def intrinsics32(self, a: str, b: str, sub: Callable[[Scalar], str]) -> Sequence[str]:
        ua, ub, ia, ib = f"(u32){a}", f"(u32){b}", f"(i32){a}", f"(i32){b}"
        c = sub(U32)
        return (
            f"__popc({ua})", f"__clz({ia})", f"__ffs({ia})", f"__brev({ua})", f"__mulhi({ia}, {ib})",
            f"__umulhi({ua}, {ub})", f"__byte_perm({ua}, {ub}, {c} & 0x7777u)", f"__sad({ia}, {ib}, {c})",
            f"__usad({ua}, {ub}, {c})", f"__funnelshift_l({ua}, {ub}, {c})", f"__funnelshift_r({ua}, {ub}, {c})",
            f"__funnelshift_lc({ua}, {ub}, {c} & 63u)", f"__funnelshift_rc({ua}, {ub}, {c} & 63u)",
            f"__mul24({ia}, {ib})", f"__umul24({ua}, {ub})", f"__hadd({ia}, {ib})", f"__uhadd({ua}, {ub})",
            f"__rhadd({ia}, {ib})", f"__dp4a({ia}, {ib}, (i32){c})", f"__dp4a({ua}, {ub}, {c})",
            f"min({ia}, {ib})", f"max({ia}, {ib})", f"min({ua}, {ub})", f"max({ua}, {ub})",
            f"({ua} & {ub}) | (~{ua} & {c})", f"({ua} ^ {ub}) ^ {c}", f"({ua} >> 5) & 0x3ffu",
            f"ptx_shl({ua}, {c})", f"ptx_shr({ua}, {c} & 63u)", f"ptx_sar({ua}, {c} & 63u)", f"ptx_add_sat({ia}, {ib})",
            f"ptx_sub_sat({ia}, {ib})", f"ptx_min_s16((i16){a}, (i16){b})", f"ptx_mul_hi_s16((i16){a}, (i16){b})",
            f"ptx_mad_hi({ua}, {ub}, {c})", f"ptx_mad_hi_s({ia}, {ib}, (i32){c})", f"ptx_mad24({ua}, {ub}, {c})",
            f"ptx_bfe_u({ua}, {ub} & 31u, {c} & 31u)", f"ptx_bfe_s({ua}, {ub} & 63u, {c})",
            f"ptx_slct({ia}, {ib}, (i32){c})",
            f"ptx_lop_majority({ua}, {ub}, {c})", f"ptx_lop_parity({ua}, {ub}, {c})", f"ptx_lop_odd({ua}, {ub}, {c})",
            f"ptx_bfi({ua}, {ub}, {c} & 63u)", f"ptx_sat_s8({ia})", f"ptx_sat_u8({ia})", f"ptx_sat_u16({ua})",
            f"ptx_half(canon({sub(F32)}))",
            f"({ua} << 7) | ({ua} >> 25)", f"(u32)((u64)({ua}) * ({ub}) >> 17)", f"(i64)({ia}) * ({ib}) >> 9",
        )  # fmt: skip

    def intrinsics64(self, a: str, b: str, sub: Callable[[Scalar], str]) -> Sequence[str]:
        ua, ub, ia, ib = f"(u64){a}", f"(u64){b}", f"(i64){a}", f"(i64){b}"
        c, d = sub(U32), sub(I32)
        return (
            f"__popcll({ua})", f"__clzll({ia})", f"__ffsll({ia})", f"__brevll({ua})", f"__mul64hi({ia}, {ib})",
            f"__umul64hi({ua}, {ub})", f"min({ia}, {ib})", f"max({ua}, {ub})", f"(u64)({c}) * (u64)({sub(U32)})",
            f"(i64)({d}) * (i64)({sub(I32)})", f"(u64)({c}) * (u64)({sub(U32)}) + {ua}",
            f"(u64)({c}) << 32 | (u32)({d})",
            f"{ua} >> 32", f"(u64)(u32)({a}) + (u64)({c})",
            f"(u64)(((u128)({ua}) << 64 | ({ub})) + (u128)({ub}) * ({c}) >> 33)",
            f"(u64)(((u128)({ua}) - (u128)({ub})) >> 64)",
        )  # fmt: skip

    def floating(self, kind: Scalar, sub: Callable[[Scalar], str]) -> str:
        a, b, c = sub(kind), sub(kind), sub(kind)
        mode = self.rng.choice(("rn", "rz", "ru", "rd"))
        f, letter, fma = ("f", "f", f"__fmaf_{mode}") if kind is F32 else ("", "d", f"__fma_{mode}")
        options = [
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} * {b} + {c})", f"({a} + {b})", f"({a} * {b})",
            f"fma{f}({a}, {b}, {c})", f"fma{f}({a}, {b}, {c})", f"(-{a})", f"fabs{f}({a})",
            f"fmin{f}({a}, {b})", f"fmax{f}({a}, {b})", f"({a} < {b} ? {a} : {b})", f"({a} / {b})",
            f"sqrt{f}(fabs{f}({a}))", f"sqrt{f}({a})", f"round_down({a})", f"round_up({a})", f"trunc{f}({a})",
            f"rint{f}({a})", f"copysign{f}({a}, canon({b}))", f"__{letter}add_{mode}({a}, {b})",
            f"__{letter}mul_{mode}({a}, {b})", f"{fma}({a}, {b}, {c})", f"__{letter}div_{mode}({a}, {b})",
            f"__{letter}sqrt_{mode}({a})",
        ]  # fmt: skip
        if kind is F32:
            options += [f"__frcp_{mode}({a})", f"__saturatef({a})", f"__saturatef({a} + {b})", f"(f32)(f64)({a})",
                        f"ptx_add_ftz({a}, {b})", f"ptx_mul_ftz({a}, {b})", f"ptx_mul_sat({a}, {b})",
                        f"ptx_max_nan({a}, {b})", f"ptx_fma_sat({a}, {b}, {c})", f"ptx_round_even({a})",
                        f"ptx_from_half((u16)({sub(U32)}))", f"ptx_from_half(ptx_half({a}))"]  # fmt: skip
        return self.rng.choice(options)
