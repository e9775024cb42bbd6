"""The noinline device functions that a kernel calls: plain, recursive, with structs and pointers."""

from __future__ import annotations

import random

from tests.fuzz.expressions import Array, Reach, Routine, Scope, Variable
from tests.fuzz.scalars import COMMON, F32, I64, U32, Scalar
from tests.fuzz.statements import Place, Statements, Together
from tests.fuzz.tree import render


def make_routines(rng: random.Random, kernel: str, tables: list[Array]) -> tuple[str, list[Routine]]:
    """The text of a kernel's functions, and how to call those that fit into expressions.

    The first two always have the type u32(u32, u32), so that a pointer can choose between them.
    """
    writer = Statements(rng)
    texts: list[str] = []
    routines: list[Routine] = []
    signatures: list[tuple[Scalar, tuple[Scalar, ...]]] = [(U32, (U32, U32)), (U32, (U32, U32))]
    signatures += [(rng.choice(COMMON), tuple(rng.choice(COMMON) for _ in range(rng.randrange(1, 4))))
                   for _ in range(rng.randrange(0, 3))]  # fmt: skip
    for number, (result, arguments) in enumerate(signatures):
        routine = Routine(f"{kernel}_f{number}", result, arguments)
        # A later function may call an earlier one, so calls never go in circles by accident.
        scope = Scope([Variable("acc", U32, Reach.THREAD)], list(tables), list(routines), in_kernel=False)
        scope.variables += [Variable(f"x{i}", kind, Reach.THREAD) for i, kind in enumerate(arguments)]
        place = Place(Together.NOBODY, depth=2, trips=6)
        body = writer.sequence(place, scope, rng.randrange(1, 5))
        text = (
            writer.word(writer.value(result, scope), result) if result is U32 else writer.value(result, scope)
        )
        returned = f"acc + {text}" if result is U32 else text
        parameters = ", ".join(f"{kind.name} x{i}" for i, kind in enumerate(arguments))
        texts.append(f"__device__ __noinline__ {result.name} {routine.name}({parameters}) {{\n"
                     f"    u32 acc = {rng.randrange(100)}u;\n{render(body)}\n    return {returned};\n}}")  # fmt: skip
        routines.append(routine)
    recursive = Routine(f"{kernel}_rec", U32, (U32, U32))
    texts.append(recursion(rng, writer, recursive))
    texts.append(pair_routine(writer, kernel))
    texts.append(touch_routine(writer, kernel))
    return "\n".join(texts), [*routines, recursive]


def recursion(rng: random.Random, writer: Statements, routine: Routine) -> str:
    scope = Scope([Variable("x", U32, Reach.THREAD), Variable("level", U32, Reach.THREAD)], in_kernel=False)
    after = scope.child()
    after.variables.append(Variable("below", U32, Reach.THREAD))
    twice = f"if ({writer.expressions.condition(after, 1)}) below ^= {routine.name}(below, level - 1u);"
    return (f"__device__ __noinline__ u32 {routine.name}(u32 x, u32 depth) {{\n    const u32 level = depth & 3u;\n"
            f"    if (level == 0u || {writer.expressions.condition(scope, 1)}) return {writer.value(U32, scope)};\n"
            f"    u32 below = {routine.name}({writer.value(U32, scope)}, level - 1u);\n"
            f"    {twice if rng.random() < 0.5 else ''}\n"
            f"    return {writer.value(U32, after)} + below;\n}}")  # fmt: skip


def pair_routine(writer: Statements, kernel: str) -> str:
    scope = Scope([Variable("q.a", U32, Reach.THREAD), Variable("q.b", I64, Reach.THREAD),
                   Variable("x", F32, Reach.THREAD)], in_kernel=False)  # fmt: skip
    return (f"__device__ __noinline__ Pair {kernel}_pair(Pair q, f32 x) {{\n    Pair r;\n"
            f"    r.a = {writer.value(U32, scope)};\n"
            f"    r.b = {writer.value(I64, scope)};\n    return r;\n}}")  # fmt: skip


def touch_routine(writer: Statements, kernel: str) -> str:
    scope = Scope([Variable("i", U32, Reach.THREAD), Variable("v", U32, Reach.THREAD),
                   Variable("old", U32, Reach.THREAD)], [Array("a", U32, 4, "local")], in_kernel=False)  # fmt: skip
    return (f"__device__ __noinline__ u32 {kernel}_touch(u32* a, u32 i, u32 v) {{\n    u32 old = a[i & 3u];\n"
            f"    a[i & 3u] = {writer.value(U32, scope)};\n    return {writer.value(U32, scope)};\n}}")  # fmt: skip
