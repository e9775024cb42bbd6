"""Integer, bit and predicate instructions."""

from __future__ import annotations

from evoengineer.device.sim.codegen.emitter import Emitter, Val, bits_of
from evoengineer.device.sim.codegen.forms import Form
from evoengineer.device.sim.ptx.model import Imm, Instr, Pair, Reg, Vec

CARRY = "%cc"  # the carry flag, kept like a register of the current block


def _kind(instr: Instr) -> tuple[str, int]:
    kind = instr.mods[-1]
    return kind, bits_of(kind)


def add_sub(e: Emitter, instr: Instr) -> None:
    kind, bits = _kind(instr)
    a, b = e.read(instr.args[1], bits), e.read(instr.args[2], bits)
    if "cc" in instr.mods or instr.op in ("addc", "subc"):
        _with_carry(e, instr, a, b, bits, instr.op[:3])
    elif "sat" in instr.mods:
        name = "sadd.sat" if instr.op == "add" else "ssub.sat"
        e.write(instr.args[0], e.alu(bits, f"i{bits}", [(a, f"i{bits}"), (b, f"i{bits}")],
                                     lambda n, x, y: e.intrinsic(name, n, f"i{bits}", x, y)))  # fmt: skip
    else:
        e.write(instr.args[0], plus(e, a, b, instr.op))


def plus(e: Emitter, a: Val, b: Val, op: str = "add") -> Val:
    """a + b or a - b, keeping linear forms linear."""
    kind = f"i{a.bits}"
    if a.const is not None and b.const is not None:
        return e.constant(a.const + b.const if op == "add" else a.const - b.const, a.bits)
    if (
        a.form is not None
        and b.form is not None
        and not e.unit.force_vectors
        and (a.form.stride or b.form.stride)
    ):
        segments = max(a.form.segments, b.form.segments)
        a, b = e.refine(a, segments), e.refine(b, segments)
        stride = a.form.stride + b.form.stride if op == "add" else a.form.stride - b.form.stride  # type: ignore
        left, right = ([e.cast(x, v.type, kind, 1) for x in v.names] for v in (a, b))
        names = [e.ins(f"{op} {kind} {x}, {y}") for x, y in zip(left, right, strict=True)]
        return Val(a.bits, Form(segments, stride), names, kind)
    return e.alu(a.bits, kind, [(a, kind), (b, kind)], lambda n, x, y: e.ins(f"{op} {e.t(n, kind)} {x}, {y}"))


def _with_carry(e: Emitter, instr: Instr, a: Val, b: Val, bits: int, op: str) -> None:
    kind = f"i{bits}"
    carry_in = e.env.get(CARRY, e.constant(0, 1)) if instr.op.endswith("c") else None
    out: list[Val] = []
    va, vb = e.vector(a), e.vector(b)
    ty = f"<32 x {kind}>"
    total = e.ins(f"{op} {ty} {va}, {vb}")
    over = e.ins(f"icmp ult {ty} {total}, {va}" if op == "add" else f"icmp ult {ty} {va}, {vb}")
    if carry_in is not None:
        step = e.ins(f"zext <32 x i1> {e.vector(carry_in)} to {ty}")
        again = e.ins(f"{op} {ty} {total}, {step}")
        more = e.ins(f"icmp ult {ty} {again}, {step}" if op == "add" else f"icmp ult {ty} {total}, {step}")
        total, over = again, e.ins(f"or <32 x i1> {over}, {more}")
    out.append(e.varying(total, bits))
    if "cc" in instr.mods:
        e.env[CARRY] = e.varying(over, 1)
    e.write(instr.args[0], out[0])


def mul_mad(e: Emitter, instr: Instr) -> None:
    kind, bits = _kind(instr)
    signed = kind[0] == "s"
    a, b = e.read(instr.args[1], bits), e.read(instr.args[2], bits)
    wide = "wide" in instr.mods
    if instr.op in ("mul24", "mad24"):
        product = _mul24(e, a, b, signed, "hi" in instr.mods)
    elif "hi" in instr.mods:
        product = _high(e, a, b, bits, signed)
    elif wide:
        word = "sext" if signed else "zext"
        product = times(e, widen(e, a, 2 * bits, word), widen(e, b, 2 * bits, word))
    else:
        product = times(e, a, b)
    if instr.op.startswith("mul"):
        e.write(instr.args[0], product)
        return
    out = 2 * bits if wide else bits
    c = e.read(instr.args[3], out)
    if "cc" in instr.mods or instr.op == "madc":
        carrying = Instr(
            "addc" if instr.op == "madc" else "add", instr.mods, instr.args, None, False, (0, 0), ""
        )
        _with_carry(e, carrying, product, c, out, "add")
    elif "sat" in instr.mods:
        e.write(
            instr.args[0],
            e.alu(
                32,
                "i32",
                [(product, "i32"), (c, "i32")],
                lambda n, x, y: e.intrinsic("sadd.sat", n, "i32", x, y),
            ),
        )
    else:
        e.write(instr.args[0], plus(e, product, c))


def times(e: Emitter, a: Val, b: Val) -> Val:
    kind = f"i{a.bits}"
    if a.const is not None:
        a, b = b, a
    if b.const is not None and e.linear(a) and not e.unit.force_vectors:
        assert a.form is not None
        factor = int(b.names[0])
        names = [e.ins(f"mul {kind} {e.cast(x, a.type, kind, 1)}, {factor}") for x in a.names]
        return Val(a.bits, Form(a.form.segments, a.form.stride * factor), names, kind)
    return e.alu(a.bits, kind, [(a, kind), (b, kind)], lambda n, x, y: e.ins(f"mul {e.t(n, kind)} {x}, {y}"))


def widen(e: Emitter, a: Val, bits: int, word: str) -> Val:
    """Extend with sign or zeros. A linear value stays linear if no lane wraps; else FAST gives up here."""
    kind, wide = f"i{a.bits}", f"i{bits}"
    if a.const is not None:
        value = a.const
        if word == "sext" and value >> (a.bits - 1):
            value -= 1 << a.bits
        return e.constant(value, bits)
    if e.linear(a) and e.fast:
        assert a.form is not None
        names = [e.ins(f"{word} {kind} {e.cast(x, a.type, kind, 1)} to {wide}") for x in a.names]
        _give_up_if_wrapped(e, names, a, wide, word)
        return Val(bits, a.form, names, wide)
    return e.alu(bits, wide, [(a, kind)], lambda n, x: e.ins(f"{word} {e.t(n, kind)} {x} to {e.t(n, wide)}"))


def _give_up_if_wrapped(e: Emitter, names: list[str], a: Val, wide: str, word: str) -> None:
    """Leave FAST at the start of this block if the last lane of a segment is out of the narrow range."""
    assert a.form is not None
    reach = a.form.stride * (32 // a.form.segments - 1)
    bad = ""
    for name in names:
        last = e.ins(f"add {wide} {name}, {reach}")
        if word == "sext":
            shifted = e.ins(f"add {wide} {last}, {1 << (a.bits - 1)}")
        else:
            shifted = last
        out = e.ins(f"icmp ugt {wide} {shifted}, {(1 << a.bits) - 1}")
        bad = e.ins(f"or i1 {bad}, {out}") if bad else out
    leave, stay = e.new_label("wrap"), e.new_label("nowrap")
    e.do(f"br i1 {bad}, label %{leave}, label %{stay}, !prof !0")
    e.label(leave)
    e.set_warp_field(96, "i32", str(e.block_index))
    e.do("ret i32 1")
    e.label(stay)


def _high(e: Emitter, a: Val, b: Val, bits: int, signed: bool) -> Val:
    kind, wide, word = f"i{bits}", f"i{2 * bits}", "sext" if signed else "zext"

    def fn(n: int, x: str, y: str) -> str:
        x, y = (e.ins(f"{word} {e.t(n, kind)} {v} to {e.t(n, wide)}") for v in (x, y))
        product = e.ins(f"mul {e.t(n, wide)} {x}, {y}")
        top = e.ins(f"lshr {e.t(n, wide)} {product}, {e.k(n, wide, bits)}")
        return e.ins(f"trunc {e.t(n, wide)} {top} to {e.t(n, kind)}")

    return e.alu(bits, kind, [(a, kind), (b, kind)], fn)


def _mul24(e: Emitter, a: Val, b: Val, signed: bool, high: bool) -> Val:
    def fn(n: int, x: str, y: str) -> str:
        ty, wide = e.t(n, "i32"), e.t(n, "i64")
        right = "ashr" if signed else "lshr"
        parts = []
        for v in (x, y):
            v = e.ins(f"shl {ty} {v}, {e.k(n, 'i32', 8)}")
            v = e.ins(f"{right} {ty} {v}, {e.k(n, 'i32', 8)}")
            parts.append(e.ins(f"{'sext' if signed else 'zext'} {ty} {v} to {wide}"))
        product = e.ins(f"mul {wide} {parts[0]}, {parts[1]}")
        if high:
            product = e.ins(f"lshr {wide} {product}, {e.k(n, 'i64', 16)}")
        return e.ins(f"trunc {wide} {product} to {ty}")

    return e.alu(32, "i32", [(a, "i32"), (b, "i32")], fn)


def sad(e: Emitter, instr: Instr) -> None:
    kind, bits = _kind(instr)
    a, b, c = (e.read(x, bits) for x in instr.args[1:4])
    ty, greater = f"i{bits}", "sgt" if kind[0] == "s" else "ugt"

    def fn(n: int, x: str, y: str, z: str) -> str:
        t = e.t(n, ty)
        first, second = e.ins(f"sub {t} {x}, {y}"), e.ins(f"sub {t} {y}, {x}")
        more = e.ins(f"icmp {greater} {t} {x}, {y}")
        diff = e.ins(f"select {e.t(n, 'i1')} {more}, {t} {first}, {t} {second}")
        return e.ins(f"add {t} {diff}, {z}")

    e.write(instr.args[0], e.alu(bits, ty, [(a, ty), (b, ty), (c, ty)], fn))


def div_rem(e: Emitter, instr: Instr) -> None:
    """Division by zero gives all ones, and the dividend as remainder, as the hardware does."""
    kind, bits = _kind(instr)
    signed, ty = kind[0] == "s", f"i{bits}"
    a, b = e.read(instr.args[1], bits), e.read(instr.args[2], bits)
    want_quotient = instr.op == "div"

    def fn(n: int, x: str, y: str) -> str:
        t, p = e.t(n, ty), e.t(n, "i1")
        zero = e.ins(f"icmp eq {t} {y}, {e.k(n, ty, 0)}")
        safe = e.ins(f"select {p} {zero}, {t} {e.k(n, ty, 1)}, {t} {y}")
        if n == 32 and bits <= 32:
            quotient = _float_quotient(e, x, safe, bits, signed)
        else:
            negate = None
            divisor = safe
            if signed:  # INT_MIN / -1 traps on the host
                negate = e.ins(f"icmp eq {t} {safe}, {e.k(n, ty, -1)}")
                divisor = e.ins(f"select {p} {negate}, {t} {e.k(n, ty, 1)}, {t} {safe}")
            quotient = e.ins(f"{'sdiv' if signed else 'udiv'} {t} {x}, {divisor}")
            if negate:
                minus = e.ins(f"sub {t} {e.k(n, ty, 0)}, {x}")
                quotient = e.ins(f"select {p} {negate}, {t} {minus}, {t} {quotient}")
        if want_quotient:
            return e.ins(f"select {p} {zero}, {t} {e.k(n, ty, -1)}, {t} {quotient}")
        back = e.ins(f"mul {t} {quotient}, {safe}")
        rest = e.ins(f"sub {t} {x}, {back}")
        return e.ins(f"select {p} {zero}, {t} {x}, {t} {rest}")

    e.write(instr.args[0], e.alu(bits, ty, [(a, ty), (b, ty)], fn))


def _float_quotient(e: Emitter, x: str, y: str, bits: int, signed: bool) -> str:
    """32-bit integers divide exactly in double precision, and vectors of doubles divide quickly."""
    t, f = f"<32 x i{bits}>", "<32 x double>"
    word = "sitofp" if signed else "uitofp"
    ratio = e.ins(f"fdiv {f} {e.ins(f'{word} {t} {x} to {f}')}, {e.ins(f'{word} {t} {y} to {f}')}")
    whole = e.ins(f"fptosi {f} {ratio} to <32 x i64>")
    return e.ins(f"trunc <32 x i64> {whole} to {t}")


def min_max(e: Emitter, instr: Instr) -> None:
    kind, bits = _kind(instr)
    if kind in ("s16x2", "u16x2"):
        raise e.unsupported(instr.name)
    name = ("s" if kind[0] == "s" else "u") + instr.op
    ty = f"i{bits}"
    a, b = e.read(instr.args[1], bits), e.read(instr.args[2], bits)

    def fn(n: int, x: str, y: str) -> str:
        result = e.intrinsic(name, n, ty, x, y)
        if "relu" in instr.mods:
            result = e.intrinsic("smax", n, ty, result, e.k(n, ty, 0))
        return result

    e.write(instr.args[0], e.alu(bits, ty, [(a, ty), (b, ty)], fn))


def neg_abs(e: Emitter, instr: Instr) -> None:
    _, bits = _kind(instr)
    ty, a = f"i{bits}", e.read(instr.args[1], bits)

    def fn(n: int, x: str) -> str:
        minus = e.ins(f"sub {e.t(n, ty)} {e.k(n, ty, 0)}, {x}")
        return minus if instr.op == "neg" else e.intrinsic("smax", n, ty, x, minus)

    e.write(instr.args[0], e.alu(bits, ty, [(a, ty)], fn))


def logic(e: Emitter, instr: Instr) -> None:
    kind, bits = _kind(instr)
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
    e.write(
        instr.args[0],
        e.alu(bits, ty, [(a, ty), (b, ty)], lambda n, x, y: e.ins(f"{instr.op} {e.t(n, ty)} {x}, {y}")),
    )


def shift(e: Emitter, instr: Instr) -> None:
    """Shift amounts are unsigned 32-bit and clamp at the width."""
    kind, bits = _kind(instr)
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
        e.write(
            instr.args[0],
            e.alu(bits, ty, [(a, ty)], lambda n, x: e.ins(f"{word} {e.t(n, ty)} {x}, {e.k(n, ty, count)}")),
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
    kind, bits = _kind(instr)
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
    kind, bits = _kind(instr)
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
        t, total = e.t(n, "i32"), e.k(n, "i32", 0)
        flipped = [e.ins(f"xor {t} {v}, {e.k(n, 'i32', -1)}") for v in (x, y, z)]
        for i in range(8):
            if table >> i & 1:
                picks = [(x, y, z)[j] if i >> (2 - j) & 1 else flipped[j] for j in range(3)]
                term = e.ins(f"and {t} {picks[0]}, {picks[1]}")
                total = e.ins(f"or {t} {total}, {e.ins(f'and {t} {term}, {picks[2]}')}")
        return total

    e.write(instr.args[0], e.alu(32, "i32", [(a, "i32"), (b, "i32"), (c, "i32")], fn))


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


def mov(e: Emitter, instr: Instr) -> None:
    kind, bits = _kind(instr)
    to, source = instr.args
    if isinstance(source, Vec) and not isinstance(to, Vec):
        e.write(to, pack(e, [e.read(x, bits // len(source.items)) for x in source.items], bits))
    elif isinstance(to, Vec):
        count = len(to.items)
        width = bits // count
        if isinstance(source, Vec):
            for item, part in zip(to.items, source.items, strict=True):
                e.write(item, e.read(part, width))
            return
        for item, part in zip(to.items, unpack(e, e.read(source, bits), count), strict=True):
            if item != Reg("_"):
                e.write(item, part)
    else:
        e.write(to, e.read(source, bits))


def pack(e: Emitter, parts: list[Val], bits: int) -> Val:
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
    width = val.bits // count
    ty, small = f"i{val.bits}", f"i{width}"

    def part(i: int) -> Val:
        def fn(n: int, x: str) -> str:
            moved = e.ins(f"lshr {e.t(n, ty)} {x}, {e.k(n, ty, i * width)}") if i else x
            return e.ins(f"trunc {e.t(n, ty)} {moved} to {e.t(n, small)}")

        return e.alu(width, small, [(val, ty)], fn)

    return [part(i) for i in range(count)]


def selp(e: Emitter, instr: Instr) -> None:
    kind, bits = _kind(instr)
    a, b, p = e.read(instr.args[1], bits), e.read(instr.args[2], bits), e.read(instr.args[3], 1)
    e.write(instr.args[0], choose(e, p, a, b))


def choose(e: Emitter, p: Val, a: Val, b: Val) -> Val:
    """p ? a : b, keeping a common stride."""
    ty = f"i{a.bits}"
    if p.const is not None:
        return a if p.const else b
    forms = (p.form, a.form, b.form)
    if (
        None not in forms
        and not e.unit.force_vectors
        and a.form.stride == b.form.stride
        and p.form.stride == 0
    ):  # type: ignore
        segments = max(f.segments for f in forms)  # type: ignore[union-attr]
        a, b, p = (e.refine(v, segments) if v.form.stride else v for v in (a, b, p))  # type: ignore[union-attr]
        columns = [e.scalars(v, t, segments) for v, t in ((p, "i1"), (a, ty), (b, ty))]
        names = [e.ins(f"select i1 {c}, {ty} {x}, {ty} {y}") for c, x, y in zip(*columns, strict=True)]
        return Val(a.bits, Form(segments, a.form.stride), names, ty)  # type: ignore[union-attr]
    return e.alu(a.bits, ty, [(p, "i1"), (a, ty), (b, ty)],
                 lambda n, c, x, y: e.ins(f"select {e.t(n, 'i1')} {c}, {e.t(n, ty)} {x}, {e.t(n, ty)} {y}"))  # fmt: skip


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
    from evoengineer.device.sim.codegen.floating import LLVM_FLOAT, SMALL, extend, flushed

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
