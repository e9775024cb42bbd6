"""Moves, selections and comparisons."""

from __future__ import annotations

from evoengineer.sim.codegen.emitter import Emitter, Val, bits_of
from evoengineer.sim.codegen.forms import Form
from evoengineer.sim.codegen.integer import operand_type
from evoengineer.sim.codegen.steps import refined
from evoengineer.sim.ptx.model import Instr, Pair, Reg, Vec


def mov(e: Emitter, instr: Instr) -> None:
    """mov, also of vectors into one register and back."""
    _, bits = operand_type(instr)
    to, source = instr.args
    if isinstance(source, Vec) and not isinstance(to, Vec):
        e.write(to, pack(e, [e.read(x, bits // len(source.items)) for x in source.items], bits))
    elif isinstance(to, Vec):
        count = len(to.items)
        width = bits // count
        if isinstance(source, Vec):
            for item, operand in zip(to.items, source.items, strict=True):
                e.write(item, e.read(operand, width))
            return
        for item, part in zip(to.items, unpack(e, e.read(source, bits), count), strict=True):
            if item != Reg("_"):
                e.write(item, part)
    else:
        e.write(to, e.read(source, bits))


def pack(e: Emitter, parts: list[Val], bits: int) -> Val:
    """Several values side by side in one, the first lowest."""
    width, ty = bits // len(parts), f"i{bits}"
    small = f"i{width}"

    def fn(n: int, *names: str) -> str:
        total = e.ins(f"zext {e.t(n, small)} {names[0]} to {e.t(n, ty)}")
        for i, name in enumerate(names[1:], 1):
            wide = e.ins(f"zext {e.t(n, small)} {name} to {e.t(n, ty)}")
            wide = e.ins(f"shl {e.t(n, ty)} {wide}, {e.k(n, ty, i * width)}")
            total = e.ins(f"or {e.t(n, ty)} {total}, {wide}")
        return total

    return e.alu(bits, ty, [(p, small) for p in parts], fn)


def unpack(e: Emitter, val: Val, count: int) -> list[Val]:
    """The parts of a value, lowest first."""
    width = val.bits // count
    ty, small = f"i{val.bits}", f"i{width}"

    def part(i: int) -> Val:
        def fn(n: int, x: str) -> str:
            moved = e.ins(f"lshr {e.t(n, ty)} {x}, {e.k(n, ty, i * width)}") if i else x
            return e.ins(f"trunc {e.t(n, ty)} {moved} to {e.t(n, small)}")

        return e.alu(width, small, [(val, ty)], fn)

    return [part(i) for i in range(count)]


def selp(e: Emitter, instr: Instr) -> None:
    _, bits = operand_type(instr)
    a, b, p = e.read(instr.args[1], bits), e.read(instr.args[2], bits), e.read(instr.args[3], 1)
    e.write(instr.args[0], choose(e, p, a, b))


def choose(e: Emitter, p: Val, a: Val, b: Val) -> Val:
    """p ? a : b, keeping a common stride."""
    ty = f"i{a.bits}"
    if p.const is not None:
        return a if p.const else b
    f, g, h = p.form, a.form, b.form
    segments = max(form.segments if form else 1 for form in (f, g, h))
    alike = f and g and h and f.flat and refined(g.steps, segments) == refined(h.steps, segments)
    if alike and not e.unit.force_vectors:
        a, b = e.refine(a, segments), e.refine(b, segments)
        columns = [e.scalars(v, t, segments) for v, t in ((p, "i1"), (a, ty), (b, ty))]
        names = [e.ins(f"select i1 {c}, {ty} {x}, {ty} {y}") for c, x, y in zip(*columns, strict=True)]
        return Val(a.bits, Form(segments, a.form.steps), names, ty)  # type: ignore[union-attr]

    def pick(n: int, c: str, x: str, y: str) -> str:
        return e.ins(f"select {e.t(n, 'i1')} {c}, {e.t(n, ty)} {x}, {e.t(n, ty)} {y}")

    return e.alu(a.bits, ty, [(p, "i1"), (a, ty), (b, ty)], pick)


def slct(e: Emitter, instr: Instr) -> None:
    """slct.type.s32/f32: a if c ≥ 0 else b."""
    kind, test = instr.mods[-2], instr.mods[-1]
    bits = bits_of(kind)
    a, b, c = e.read(instr.args[1], bits), e.read(instr.args[2], bits), e.read(instr.args[3], 32)
    if test == "f32":
        p = e.alu(
            1,
            "i1",
            [(c, "float")],
            lambda n, x: e.ins(f"fcmp oge {e.t(n, 'float')} {x}, {e.k(n, 'float', '0.0')}"),
        )
    else:
        p = e.alu(
            1, "i1", [(c, "i32")], lambda n, x: e.ins(f"icmp sge {e.t(n, 'i32')} {x}, {e.k(n, 'i32', 0)}")
        )
    e.write(instr.args[0], choose(e, p, a, b))


_COMPARE = {
    "eq": "eq",
    "ne": "ne",
    "lt": "lt",
    "le": "le",
    "gt": "gt",
    "ge": "ge",
    "lo": "lt",
    "ls": "le",
    "hi": "gt",
    "hs": "ge",
}


_FLOAT = {
    "eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "equ": "ueq", "neu": "une",
    "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge", "num": "ord", "nan": "uno",
}  # fmt: skip


def compare(e: Emitter, test: str, kind: str, a: Val, b: Val, flush: bool) -> Val:
    """The predicate `a test b` for a PTX comparison and type."""
    from evoengineer.sim.codegen.floating import LLVM_FLOAT, SMALL, extend, flushed

    if kind in LLVM_FLOAT:
        ty = LLVM_FLOAT[kind]

        def fn(n: int, x: str, y: str) -> str:
            if flush:
                x, y = flushed(e, n, ty, x), flushed(e, n, ty, y)
            kind = ty
            if ty in SMALL:
                x, y = (extend(e, n, ty, v) for v in (x, y))
                kind = "float"
            return e.ins(f"fcmp {_FLOAT[test]} {e.t(n, kind)} {x}, {y}")

        return e.alu(1, "i1", [(a, ty), (b, ty)], fn)
    ty = f"i{a.bits}"
    word = _COMPARE[test]
    if word not in ("eq", "ne"):
        word = ("u" if kind[0] in "ub" or test in ("lo", "ls", "hi", "hs") else "s") + word
    return e.alu(1, "i1", [(a, ty), (b, ty)], lambda n, x, y: e.ins(f"icmp {word} {e.t(n, ty)} {x}, {y}"))


def setp(e: Emitter, instr: Instr) -> None:
    """setp: a comparison, combined with another predicate if it names one."""
    test, kind = instr.mods[0], instr.mods[-1]
    if kind in ("f16x2", "bf16x2"):
        _setp_packed(e, instr)
        return
    bits = bits_of(kind)
    p = compare(
        e,
        test,
        kind,
        e.read(instr.args[1], bits),
        e.read(instr.args[2], bits),
        "ftz" in instr.mods and not e.unit.program.flush_denormals,
    )
    _write_tests(e, instr, p)


def _write_tests(e: Emitter, instr: Instr, p: Val) -> None:
    to = instr.args[0]
    pair = isinstance(to, Pair)
    results = [p, e.invert(p)] if pair else [p]
    joiner = next((m for m in instr.mods if m in ("and", "or", "xor")), None)
    if joiner and len(instr.args) > 3:
        c = e.read(instr.args[3], 1)
        results = [
            e.alu(1, "i1", [(r, "i1"), (c, "i1")], lambda n, x, y: e.ins(f"{joiner} {e.t(n, 'i1')} {x}, {y}"))
            for r in results
        ]
    targets = [to.first, to.second] if isinstance(to, Pair) else [to]
    for target, result in zip(targets, results, strict=True):
        e.write(target, result)


def _setp_packed(e: Emitter, instr: Instr) -> None:
    """f16x2: the first destination is for the low half, the second for the high half."""
    kind = instr.mods[-1][:-2]
    a, b = (unpack(e, e.read(x, 32), 2) for x in instr.args[1:3])
    tests = [compare(e, instr.mods[0], kind, x, y, False) for x, y in zip(a, b, strict=True)]
    to = instr.args[0]
    targets = [to.first, to.second] if isinstance(to, Pair) else [to]
    for target, test in zip(targets, tests, strict=False):
        e.write(target, test)


def set_(e: Emitter, instr: Instr) -> None:
    """set: a comparison whose result is a number: all ones for integers, 1.0 for floats."""
    test = instr.mods[0]
    kinds = [
        m
        for m in instr.mods
        if m
        in (
            "u32",
            "s32",
            "f32",
            "f16",
            "bf16",
            "f16x2",
            "bf16x2",
            "u16",
            "s16",
            "u64",
            "s64",
            "f64",
            "b32",
            "b16",
            "b64",
        )
    ]
    to, kind = kinds[0], kinds[-1]
    true = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}.get(to, -1)
    joiner = next((m for m in instr.mods if m in ("and", "or", "xor")), None)

    def one(a: Val, b: Val, scalar_kind: str, bits: int) -> Val:
        p = compare(e, test, scalar_kind, a, b, False)
        if joiner and len(instr.args) > 3:
            c = e.read(instr.args[3], 1)
            p = e.alu(
                1, "i1", [(p, "i1"), (c, "i1")], lambda n, x, y: e.ins(f"{joiner} {e.t(n, 'i1')} {x}, {y}")
            )
        return choose(e, p, e.constant(true, bits), e.constant(0, bits))

    if kind in ("f16x2", "bf16x2"):
        a, b = (unpack(e, e.read(x, 32), 2) for x in instr.args[1:3])
        parts = [one(x, y, kind[:-2], 16) for x, y in zip(a, b, strict=True)]
        e.write(instr.args[0], pack(e, parts, 32))
        return
    bits = bits_of(kind)
    e.write(instr.args[0], one(e.read(instr.args[1], bits), e.read(instr.args[2], bits), kind, bits_of(to)))
