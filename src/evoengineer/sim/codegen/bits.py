"""Bit-wise instructions: logic, shifts, bit fields, permutations, dot products of bytes."""

from __future__ import annotations

from evoengineer.sim.codegen.emitter import Emitter, Val
from evoengineer.sim.codegen.forms import bits_of_steps
from evoengineer.sim.codegen.integer import operand_type, times
from evoengineer.sim.ptx.model import Imm, Instr


def logic(e: Emitter, instr: Instr) -> None:
    """and, or, xor, not, cnot."""
    _, bits = operand_type(instr)
    ty = f"i{bits}"
    if instr.op == "not":
        e.write(instr.args[0], e.invert(e.read(instr.args[1], bits)))
        return
    if instr.op == "cnot":
        a = e.read(instr.args[1], bits)
        e.write(instr.args[0], e.alu(bits, ty, [(a, ty)], lambda n, x: e.ins(
            f"zext {e.t(n, 'i1')} {e.ins(f'icmp eq {e.t(n, ty)} {x}, {e.k(n, ty, 0)}')} to {e.t(n, ty)}")))  # fmt: skip
        return
    a, b = e.read(instr.args[1], bits), e.read(instr.args[2], bits)
    part = _bits_of_steps(e, instr, a, instr.op, b.names[0])
    e.write(
        instr.args[0],
        part
        or e.alu(bits, ty, [(a, ty), (b, ty)], lambda n, x, y: e.ins(f"{instr.op} {e.t(n, ty)} {x}, {y}")),
    )


def _bits_of_steps(e: Emitter, instr: Instr, a: Val, word: str, constant: str) -> Val | None:
    """The bits of a base and steps by scalars alone, where forms.py says that they are again a base and steps."""
    if a.form is None or e.unit.force_vectors:
        return None
    form = bits_of_steps(instr, a.form)
    if form is None:
        return None
    a, ty = e.refine(a, form.segments), f"i{a.bits}"
    names = [e.ins(f"{word} {ty} {e.cast(x, a.type, ty, 1)}, {constant}") for x in a.names]
    return Val(a.bits, form, names, ty)


def shift(e: Emitter, instr: Instr) -> None:
    """Shift amounts are unsigned 32-bit and clamp at the width."""
    kind, bits = operand_type(instr)
    ty, a, amount = f"i{bits}", e.read(instr.args[1], bits), instr.args[2]
    word = "shl" if instr.op == "shl" else "ashr" if kind[0] == "s" else "lshr"
    if isinstance(amount, Imm):
        count = amount.value & 0xFFFFFFFF
        if count >= bits and word != "ashr":
            e.write(instr.args[0], e.constant(0, bits))
            return
        count = min(count, bits - 1)
        if word == "shl" and e.linear(a):
            e.write(instr.args[0], times(e, a, e.constant(1 << count, bits)))
            return
        part = _bits_of_steps(e, instr, a, word, str(count))
        e.write(
            instr.args[0],
            part
            or e.alu(
                bits, ty, [(a, ty)], lambda n, x: e.ins(f"{word} {e.t(n, ty)} {x}, {e.k(n, ty, count)}")
            ),
        )
        return
    b = e.read(amount, 32)

    def fn(n: int, x: str, y: str) -> str:
        t, w = e.t(n, ty), e.t(n, "i32")
        small = e.ins(f"icmp ult {w} {y}, {e.k(n, 'i32', bits)}")
        clamped = e.intrinsic("umin", n, "i32", y, e.k(n, "i32", bits - 1))
        by = clamped
        if bits < 32:
            by = e.ins(f"trunc {w} {clamped} to {t}")
        elif bits > 32:
            by = e.ins(f"zext {w} {clamped} to {t}")
        moved = e.ins(f"{word} {t} {x}, {by}")
        if word == "ashr":
            return moved
        return e.ins(f"select {e.t(n, 'i1')} {small}, {t} {moved}, {t} {e.k(n, ty, 0)}")

    e.write(instr.args[0], e.alu(bits, ty, [(a, ty), (b, "i32")], fn))


def funnel(e: Emitter, instr: Instr) -> None:
    """shf."""
    a, b, c = (e.read(x, 32) for x in instr.args[1:4])
    left, clamp = "l" in instr.mods, "clamp" in instr.mods

    def fn(n: int, x: str, y: str, by: str) -> str:
        name = "fshl" if left else "fshr"
        result = e.intrinsic(name, n, "i32", y, x, by)
        if clamp:
            t = e.t(n, "i32")
            full = e.ins(f"icmp ugt {t} {by}, {e.k(n, 'i32', 31)}")
            result = e.ins(f"select {e.t(n, 'i1')} {full}, {t} {x if left else y}, {t} {result}")
        return result

    e.write(instr.args[0], e.alu(32, "i32", [(a, "i32"), (b, "i32"), (c, "i32")], fn))


def count_bits(e: Emitter, instr: Instr) -> None:
    """popc, clz, brev, bfind."""
    kind, bits = operand_type(instr)
    ty, a = f"i{bits}", e.read(instr.args[1], bits)

    def fn(n: int, x: str) -> str:
        t = e.t(n, ty)
        if instr.op == "brev":
            return e.intrinsic("bitreverse", n, ty, x)
        if instr.op == "popc":
            wide = e.intrinsic("ctpop", n, ty, x)
        else:
            if instr.op == "bfind" and kind[0] == "s":
                sign = e.ins(f"ashr {t} {x}, {e.k(n, ty, bits - 1)}")
                x = e.ins(f"xor {t} {x}, {sign}")
            suffix = ty if n == 1 else f"v{n}{ty}"
            wide = e.call(t, f"llvm.ctlz.{suffix}", [(t, x), ("i1", "false")])
            if instr.op == "bfind" and "shiftamt" not in instr.mods:
                wide = e.ins(f"sub {t} {e.k(n, ty, bits - 1)}, {wide}")
            elif instr.op == "bfind":
                none = e.ins(f"icmp eq {t} {x}, {e.k(n, ty, 0)}")
                wide = e.ins(f"select {e.t(n, 'i1')} {none}, {t} {e.k(n, ty, -1)}, {t} {wide}")
        return wide if bits == 32 else e.ins(f"trunc {t} {wide} to {e.t(n, 'i32')}")

    out = bits if instr.op == "brev" else 32
    e.write(instr.args[0], e.alu(out, f"i{out}", [(a, ty)], fn))


def bit_field(e: Emitter, instr: Instr) -> None:
    """bfe and bfi: position and length are the low 8 bits of their operands."""
    kind, bits = operand_type(instr)
    if instr.op == "bfe":
        a, b, c = e.read(instr.args[1], bits), e.read(instr.args[2], 32), e.read(instr.args[3], 32)
        pointers = [e.spill(a), e.spill(b), e.spill(c)]
        _runtime(e, instr, f"rt_bfe_{kind.replace('b', 'u')}", pointers, bits)
        return
    ty = f"i{bits}"
    a, b = e.read(instr.args[1], bits), e.read(instr.args[2], bits)
    pos, length = e.read(instr.args[3], 32), e.read(instr.args[4], 32)

    def fn(n: int, x: str, y: str, p: str, q: str) -> str:
        t, i1 = e.t(n, ty), e.t(n, "i1")
        p, q = (e.ins(f"and {e.t(n, 'i32')} {v}, {e.k(n, 'i32', 255)}") for v in (p, q))
        if bits == 64:
            p, q = (e.ins(f"zext {e.t(n, 'i32')} {v} to {t}") for v in (p, q))
        inside = e.ins(f"icmp ult {t} {p}, {e.k(n, ty, bits)}")
        whole = e.ins(f"icmp uge {t} {q}, {e.k(n, ty, bits)}")
        p, q = (e.ins(f"and {t} {v}, {e.k(n, ty, bits - 1)}") for v in (p, q))
        ones = e.ins(f"shl {t} {e.k(n, ty, -1)}, {q}")
        ones = e.ins(f"xor {t} {ones}, {e.k(n, ty, -1)}")
        ones = e.ins(f"select {i1} {whole}, {t} {e.k(n, ty, -1)}, {t} {ones}")
        field = e.ins(f"shl {t} {ones}, {p}")
        field = e.ins(f"select {i1} {inside}, {t} {field}, {t} {e.k(n, ty, 0)}")
        moved = e.ins(f"shl {t} {x}, {p}")
        diff = e.ins(f"xor {t} {moved}, {y}")
        return e.ins(f"xor {t} {y}, {e.ins(f'and {t} {diff}, {field}')}")

    e.write(instr.args[0], e.alu(bits, ty, [(a, ty), (b, ty), (pos, "i32"), (length, "i32")], fn))


def lop3(e: Emitter, instr: Instr) -> None:
    a, b, c = (e.read(x, 32) for x in instr.args[1:4])
    table = instr.args[4].value  # type: ignore[union-attr]

    def fn(n: int, x: str, y: str, z: str) -> str:
        return lop3_of(e, n, x, y, z, table)

    e.write(instr.args[0], e.alu(32, "i32", [(a, "i32"), (b, "i32"), (c, "i32")], fn))


def lop3_of(e: Emitter, n: int, x: str, y: str, z: str, table: int) -> str:
    t, total = e.t(n, "i32"), e.k(n, "i32", 0)
    flipped = [e.ins(f"xor {t} {v}, {e.k(n, 'i32', -1)}") for v in (x, y, z)]
    for i in range(8):
        if table >> i & 1:
            picks = [(x, y, z)[j] if i >> (2 - j) & 1 else flipped[j] for j in range(3)]
            term = e.ins(f"and {t} {picks[0]}, {picks[1]}")
            total = e.ins(f"or {t} {total}, {e.ins(f'and {t} {term}, {picks[2]}')}")
    return total


def prmt(e: Emitter, instr: Instr) -> None:
    modes = {"f4e": 1, "b4e": 2, "rc8": 3, "ecl": 4, "ecr": 5, "rc16": 6}
    mode = next((modes[m] for m in instr.mods if m in modes), 0)
    a, b, c = (e.read(x, 32) for x in instr.args[1:4])
    if mode or c.const is None:
        _runtime(e, instr, "rt_prmt", [e.spill(a), e.spill(b), e.spill(c)], 32, [("i32", str(mode))])
        return
    selector = c.const

    def fn(n: int, x: str, y: str) -> str:
        t, w = e.t(n, "i32"), e.t(n, "i64")

        def k32(value: int) -> str:
            return e.k(n, "i32", value)

        def k64(value: int) -> str:
            return e.k(n, "i64", value)

        low, high = (e.ins(f"zext {t} {v} to {w}") for v in (x, y))
        both = e.ins(f"or {w} {low}, {e.ins(f'shl {w} {high}, {k64(32)}')}")
        total = e.k(n, "i32", 0)
        for i in range(4):
            pick = selector >> (4 * i) & 15
            byte = e.ins(f"trunc {w} {e.ins(f'lshr {w} {both}, {k64(8 * (pick & 7))}')} to {e.t(n, 'i8')}")
            if pick & 8:
                byte = e.ins(f"ashr {e.t(n, 'i8')} {byte}, {e.k(n, 'i8', 7)}")
            wide = e.ins(f"zext {e.t(n, 'i8')} {byte} to {t}")
            total = e.ins(f"or {t} {total}, {e.ins(f'shl {t} {wide}, {k32(8 * i)}')}")
        return total

    e.write(instr.args[0], e.alu(32, "i32", [(a, "i32"), (b, "i32")], fn))


def dot_product(e: Emitter, instr: Instr) -> None:
    """dp4a, dp2a: by the runtime."""
    a, b, c = (e.spill(e.read(x, 32)) for x in instr.args[1:4])
    kinds = [m for m in instr.mods if m in ("s32", "u32")]
    flags = [("i32", str(int(k == "s32"))) for k in kinds]
    if instr.op == "dp2a":
        flags.append(("i32", str(int("hi" in instr.mods))))
    _runtime(e, instr, f"rt_{instr.op}", [a, b, c], 32, flags)


def _runtime(
    e: Emitter,
    instr: Instr,
    name: str,
    pointers: list[str],
    bits: int,
    extra: list[tuple[str, str]] | None = None,
) -> None:
    out = e.alloca(bits * 4)
    e.call("void", name, [("ptr", out), *(("ptr", p) for p in pointers), *(extra or [])])
    e.write(instr.args[0], e.reload(out, bits))


def rare(e: Emitter, instr: Instr) -> None:
    """fns, szext, bmsk."""
    args = [e.spill(e.read(x, 32)) for x in instr.args[1:]]
    extra: list[tuple[str, str]] = []
    if instr.op == "szext":
        extra = [("i32", str(int("wrap" in instr.mods))), ("i32", str(int(instr.mods[-1] == "s32")))]
    if instr.op == "bmsk":
        extra = [("i32", str(int("clamp" in instr.mods)))]
    _runtime(e, instr, f"rt_{instr.op}", args, 32, extra)
