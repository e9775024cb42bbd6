"""The scalar types of generated kernels, and literals of them that are worth trying."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Scalar:
    """A C type; `name` is the typedef that harness.h gives it."""

    name: str
    bits: int
    signed: bool
    floating: bool = False

    @property
    def unsigned_name(self) -> str:
        """The type in which this integer's arithmetic wraps instead of being undefined."""
        return "u64" if self.bits == 64 else "u32"


I8, U8 = Scalar("i8", 8, True), Scalar("u8", 8, False)
I16, U16 = Scalar("i16", 16, True), Scalar("u16", 16, False)
I32, U32 = Scalar("i32", 32, True), Scalar("u32", 32, False)
I64, U64 = Scalar("i64", 64, True), Scalar("u64", 64, False)
F32, F64 = Scalar("f32", 32, True, True), Scalar("f64", 64, True, True)

INTEGERS = (I8, U8, I16, U16, I32, U32, I64, U64)
FLOATS = (F32, F64)
# Weighted by how often real kernels use them.
COMMON = (I32, I32, I32, U32, U32, U32, F32, F32, F32, F64, I64, U64, U64, I8, U8, I16, U16)

FLOAT_LITERALS = (
    "0.0",
    "1.0",
    "-1.0",
    "0.5",
    "2.0",
    "-0.25",
    "3.0",
    "1e-3",
    "1024.0",
    "-0.0",
    "1e20",
    "7.75",
)


def literal(rng: random.Random, kind: Scalar) -> str:
    """A constant of the type, often at the edge of its range."""
    if kind.floating:
        text = rng.choice(FLOAT_LITERALS)
        return f"({text}f)" if kind is F32 else f"({text})"
    choice = rng.random()
    if choice < 0.55:
        value = rng.randrange(0, 17)
    elif choice < 0.75:
        value = (1 << rng.randrange(kind.bits)) - rng.choice((0, 1))
    elif choice < 0.85:
        value = (1 << kind.bits) - rng.randrange(1, 40)
    else:
        value = rng.getrandbits(kind.bits)
    value &= (1 << kind.bits) - 1
    return f"(({kind.name}){value:#x}{'ull' if kind.bits == 64 else 'u'})"
