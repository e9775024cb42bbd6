"""Integer arithmetic."""

from __future__ import annotations

import itertools

from evoengineer.sim.codegen import steps
from evoengineer.sim.codegen.emitter import Emitter, Val, bits_of
from evoengineer.sim.codegen.forms import Form
from evoengineer.sim.codegen.origins import CARRY
from evoengineer.sim.ptx.model import Instr


def operand_type(instr: Instr) -> tuple[str, int]:
    """The type that an instruction's name ends in, and its width."""
    kind = instr.mods[-1]
    return kind, bits_of(kind)


def add_sub(e: Emitter, instr: Instr) -> None:
    """add, sub and their forms with carry or saturation."""
    _, bits = operand_type(instr)
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
    if a.form is not None and b.form is not None and not e.unit.force_vectors and not (a.flat and b.flat):
        segments = max(a.form.segments, b.form.segments)
        a, b = e.refine(a, segments), e.refine(b, segments)
        together = steps.plus if op == "add" else steps.minus
        left, right = ([e.cast(x, v.type, kind, 1) for x in v.names] for v in (a, b))
        names = [e.ins(f"{op} {kind} {x}, {y}") for x, y in zip(left, right, strict=True)]
        return Val(a.bits, Form(segments, together(a.form.steps, b.form.steps)), names, kind)  # type: ignore
    return e.alu(a.bits, kind, [(a, kind), (b, kind)], lambda n, x, y: e.ins(f"{op} {e.t(n, kind)} {x}, {y}"))


def _with_carry(e: Emitter, instr: Instr, a: Val, b: Val, bits: int, op: str) -> None:
    """Add or subtract with the carry flag. As in the hardware, whose compiler mixes the two kinds (128-bit
    division reads the outcome of subc.cc with addc), a subtraction sets the flag when it did *not* borrow."""
    kind = f"i{bits}"
    carry_in = e.env.get(CARRY, e.constant(op == "sub", 1)) if instr.op.endswith("c") else None
    out: list[Val] = []
    va, vb = e.vector(a), e.vector(b)
    flipped = f"splat (i1 {'true' if op == 'sub' else 'false'})"
    ty = f"<32 x {kind}>"
    total = e.ins(f"{op} {ty} {va}, {vb}")
    over = e.ins(f"icmp ult {ty} {total}, {va}" if op == "add" else f"icmp ult {ty} {va}, {vb}")
    if carry_in is not None:
        flag = e.ins(f"xor <32 x i1> {e.vector(carry_in)}, {flipped}")
        step = e.ins(f"zext <32 x i1> {flag} to {ty}")
        again = e.ins(f"{op} {ty} {total}, {step}")
        more = e.ins(f"icmp ult {ty} {again}, {step}" if op == "add" else f"icmp ult {ty} {total}, {step}")
        total, over = again, e.ins(f"or <32 x i1> {over}, {more}")
    out.append(e.varying(total, bits))
    if "cc" in instr.mods:
        e.env[CARRY] = e.varying(e.ins(f"xor <32 x i1> {over}, {flipped}"), 1)
    e.write(instr.args[0], out[0])


def mul_mad(e: Emitter, instr: Instr) -> None:
    """mul, mad, mul24, mad24 and their forms: low, high, wide, with carry."""
    kind, bits = operand_type(instr)
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
    """A product; one of a linear value and a constant stays linear."""
    kind = f"i{a.bits}"
    if a.const is not None:
        a, b = b, a
    if b.const is not None and e.linear(a) and not e.unit.force_vectors:
        assert a.form is not None
        factor = int(b.names[0])
        names = [e.ins(f"mul {kind} {e.cast(x, a.type, kind, 1)}, {factor}") for x in a.names]
        return Val(a.bits, Form(a.form.segments, steps.times(a.form.steps, factor)), names, kind)
    return e.alu(a.bits, kind, [(a, kind), (b, kind)], lambda n, x, y: e.ins(f"mul {e.t(n, kind)} {x}, {y}"))


def widen(e: Emitter, a: Val, bits: int, word: str) -> Val:
    """Extend with sign or zeros.

    A linear value stays linear if no lane wraps, which its alignment may tell; else FAST gives up and SLOW runs the
    block from its start. That is possible only while the block has had no effect: unit.py cuts blocks so that
    registers which are linear throughout always find it so, but for those that rest on the bits of others.
    """
    kind, wide = f"i{a.bits}", f"i{bits}"
    if a.const is not None:
        value = a.const
        if word == "sext" and value >> (a.bits - 1):
            value -= 1 << a.bits
        return e.constant(value, bits)
    form = a.form
    if form is not None and not form.flat and e.fast and (not form.carries or not (form.cut or e.effects)):
        names = [e.ins(f"{word} {kind} {e.cast(x, a.type, kind, 1)} to {wide}") for x in a.names]
        if form.carries:
            _give_up_if_wrapped(e, names, a, wide, word)
        return Val(bits, form, names, wide)
    return e.alu(bits, wide, [(a, kind)], lambda n, x: e.ins(f"{word} {e.t(n, kind)} {x} to {e.t(n, wide)}"))


def _give_up_if_wrapped(e: Emitter, names: list[str], a: Val, wide: str, word: str) -> None:
    """Leave FAST at the start of this block if a lane of a segment is out of the narrow range."""
    assert a.form is not None
    reaches = {min(a.form.steps), max(a.form.steps)} - {0}  # the first lane is not
    bad = ""
    for name, reach in itertools.product(names, sorted(reaches)):
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
    with e.aside():
        for name, val in e.carried.items():
            e.store_slot(name, val)
        if e.rounds is not None:
            e.leave_rounds(e.rounds)
        e.give_up()
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
    """The sum of an absolute difference and a third operand."""
    kind, bits = operand_type(instr)
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
    kind, bits = operand_type(instr)
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
    """min, max of integers."""
    kind, bits = operand_type(instr)
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
    """neg, abs of integers."""
    _, bits = operand_type(instr)
    ty, a = f"i{bits}", e.read(instr.args[1], bits)

    def fn(n: int, x: str) -> str:
        minus = e.ins(f"sub {e.t(n, ty)} {e.k(n, ty, 0)}, {x}")
        return minus if instr.op == "neg" else e.intrinsic("smax", n, ty, x, minus)

    e.write(instr.args[0], e.alu(bits, ty, [(a, ty)], fn))
