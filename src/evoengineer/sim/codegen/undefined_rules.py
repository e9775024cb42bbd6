"""How instructions that compute pass undefined bits on: from the operands' to the result's."""

from __future__ import annotations

from evoengineer.sim.codegen.bits import lop3_of
from evoengineer.sim.codegen.emitter import bits_of
from evoengineer.sim.codegen.handlers import HANDLERS
from evoengineer.sim.codegen.moves import compare, pack, unpack
from evoengineer.sim.codegen.undefined import Definedness, Results, Rule, Undefined, all_sources
from evoengineer.sim.codegen.warp import mma_description
from evoengineer.sim.ptx.flow import destinations, operand_names
from evoengineer.sim.ptx.model import Instr, Operand, Reg, Vec

_INTEGERS = {f"{sign}{bits}" for sign in "sub" for bits in (8, 16, 32, 64)}


def default(d: Definedness, instr: Instr) -> Results:
    """A result hangs on every bit of the operands; packed types element by element."""
    e = d.e
    parts = [d.of_register(name) for name in all_sources(instr) if name != getattr(instr.guard, "name", None)]
    results: Results = {}
    for name in destinations(instr):
        bits = e.register_bits(name)
        if (
            instr.mods
            and instr.mods[-1] in ("f16x2", "bf16x2", "s16x2", "u16x2")
            and all(p is None or p.bits == bits for p in parts)
        ):
            results[name] = d.elements(d.either(*parts), 16)
        else:
            results[name] = d.whole(parts, bits)
    return results


def _single(instr: Instr, u: Undefined | None) -> Results:
    return dict.fromkeys(destinations(instr), u)


def _carrying(d: Definedness, instr: Instr) -> Results:
    """add, sub, mul.lo, mad.lo, neg: bits below the lowest undefined one stay defined."""
    kind = instr.mods[-1]
    if kind not in _INTEGERS or {"cc", "sat", "hi", "wide"} & set(instr.mods):
        return default(d, instr)
    bits = bits_of(kind)
    return _single(instr, d.upward(d.either(*(d.of(a, bits) for a in instr.args[1:]))))


def _logic(d: Definedness, instr: Instr) -> Results:
    """A defined 0 settles `and`, a defined 1 settles `or`."""
    e, bits = d.e, bits_of(instr.mods[-1])
    u, v = (d.of(a, bits) for a in instr.args[1:3])
    if instr.op == "xor":
        return _single(instr, d.either(u, v))
    kind = f"<32 x i{bits}>"
    total = d.either(u, v)
    if total is None:
        return _single(instr, None)
    name = d.exact(total)
    for operand, part in zip(instr.args[1:3], (u, v), strict=True):
        open_bits = e.vector(e.read(operand, bits) if instr.op == "and" else e.invert(e.read(operand, bits)))
        if part is not None:
            open_bits = e.ins(f"or {kind} {open_bits}, {d.exact(part)}")
        name = e.ins(f"and {kind} {name}, {open_bits}")
    return _single(instr, Undefined(name, bits))


def _not(d: Definedness, instr: Instr) -> Results:
    return _single(instr, d.of(instr.args[1], bits_of(instr.mods[-1])))


def _lop3(d: Definedness, instr: Instr) -> Results:
    """A bit is undefined if undefined operand bits can change it: try every choice of them."""
    e = d.e
    table = instr.args[4].value  # type: ignore[union-attr]
    values = [e.vector(e.read(a, 32)) for a in instr.args[1:4]]
    parts = [d.bits_of(d.of(a, 32)) for a in instr.args[1:4]]
    flipped = [e.ins(f"xor <32 x i32> {v}, {p}") for v, p in zip(values, parts, strict=True)]
    first = lop3_of(e, 32, values[0], values[1], values[2], table)
    total = "zeroinitializer"
    for choice in range(1, 8):
        x, y, z = (flipped[i] if choice >> i & 1 else values[i] for i in range(3))
        changed = e.ins(f"xor <32 x i32> {lop3_of(e, 32, x, y, z, table)}, {first}")
        total = e.ins(f"or <32 x i32> {total}, {changed}")
    return _single(instr, Undefined(total, 32))


def _same_on_bits(*controls: int) -> Rule:
    """The instruction moves bits about: done to the undefined ones, too, unless a control operand is undefined."""

    def rule(d: Definedness, instr: Instr) -> Results:
        e = d.e
        if d.any_of(
            [d.of_register(n) for i in controls if i < len(instr.args) for n in operand_names(instr.args[i])]
        ):
            return default(d, instr)
        target = instr.args[0]
        assert isinstance(target, Reg)
        stand_ins: list[Operand] = [_stand_in(d, e.register_bits(target.name), 0, None)]
        for i, operand in enumerate(instr.args[1:], 1):
            if i in controls:
                stand_ins.append(operand)
                continue
            bits = (
                e.register_bits(operand.name)
                if isinstance(operand, Reg) and operand.name in e.unit.body.registers
                else 32
            )
            stand_ins.append(_stand_in(d, bits, i, d.of(operand, bits)))
        twin = Instr(instr.op, instr.mods, tuple(stand_ins), None, False, instr.location, instr.text)
        HANDLERS[instr.op](e, twin)
        to = stand_ins[0].name  # type: ignore[union-attr]
        e.written.discard(to)
        return {target.name: Undefined(e.vector(e.env[to]), e.register_bits(target.name))}

    return rule


def _stand_in(d: Definedness, bits: int, place: int, u: Undefined | None) -> Reg:
    """A register that holds the undefined bits of an operand."""
    name = f"%undefined@{bits}@{place}"
    d.e.unit.body.registers[name] = f"b{bits}"
    d.e.env[name] = d.value(u, bits)
    return Reg(name)


def _mov(d: Definedness, instr: Instr) -> Results:
    e, bits = d.e, bits_of(instr.mods[-1])
    to, source = instr.args
    if isinstance(to, Vec):
        count = len(to.items)
        if isinstance(source, Vec):
            parts = [d.of(x, bits // count) for x in source.items]
        else:
            whole = d.value(d.of(source, bits), bits)
            parts = [Undefined(e.vector(v), v.bits) for v in unpack(e, whole, count)]
        return {t.name: p for t, p in zip(to.items, parts, strict=True) if isinstance(t, Reg)}
    if isinstance(source, Vec):
        width = bits // len(source.items)
        packed = pack(e, [d.value(d.of(x, width), width) for x in source.items], bits)
        return _single(instr, Undefined(e.vector(packed), bits))
    return _single(instr, d.of(source, bits))


def _cvt(d: Definedness, instr: Instr) -> Results:
    e, (to, source) = d.e, instr.mods[-2:]
    if to in _INTEGERS and source in _INTEGERS and len(instr.mods) == 2:
        u = d.of(instr.args[1], bits_of(source))
        if u is None:
            return _single(instr, None)
        for bits, sign in (
            (bits_of(to), source[0] == "s"),
            (e.register_bits(destinations(instr)[0]), to[0] == "s"),
        ):
            if bits != u.bits:
                word = "trunc" if bits < u.bits else "sext" if sign else "zext"
                u = Undefined(e.ins(f"{word} <32 x i{u.bits}> {d.exact(u)} to <32 x i{bits}>"), bits)
        return _single(instr, u)
    if (
        to.endswith("x2") and len(instr.args) == 3
    ):  # two numbers into the halves of one register, the second low
        bits = e.register_bits(destinations(instr)[0])
        halves = [d.whole([d.of(a, bits_of(source))], bits // 2) for a in (instr.args[2], instr.args[1])]
        return _single(
            instr, Undefined(e.vector(pack(e, [d.value(h, bits // 2) for h in halves], bits)), bits)
        )
    return default(d, instr)


def _selp(d: Definedness, instr: Instr) -> Results:
    """The bits of the one that is chosen; with an undefined choice also those in which the two differ."""
    e, bits = d.e, bits_of(instr.mods[-1])
    a, b, p = instr.args[1:4]
    u, v, chooser = d.of(a, bits), d.of(b, bits), d.of(p, 1)
    kind = f"<32 x i{bits}>"
    name = d.bits_of(None)
    if u is not None or v is not None:
        test = e.vector(e.read(p, 1))
        name = e.ins(f"select <32 x i1> {test}, {kind} {d.bits_of(u)}, {kind} {d.bits_of(v)}")
    if chooser is not None:
        differ = e.ins(f"xor {kind} {e.vector(e.read(a, bits))}, {e.vector(e.read(b, bits))}")
        for part in (u, v):
            if part is not None:
                differ = e.ins(f"or {kind} {differ}, {d.exact(part)}")
        differ = e.ins(f"and {kind} {differ}, {d.spread(d.lanes(chooser), bits)}")
        name = e.ins(f"or {kind} {name}, {differ}")
    return _single(instr, Undefined(name, bits))


def _setp(d: Definedness, instr: Instr) -> Results:
    """A comparison; where defined bits differ, equality is settled. Then `and`, `or` with a predicate."""
    e, test, kind = d.e, instr.mods[0], instr.mods[-1]
    names = destinations(instr)
    if kind in ("f16x2", "bf16x2"):
        parts = [d.elements(d.of(a, 32), 16) for a in instr.args[1:3]]
        both = d.either(*parts)
        return {} if both is None else {name: Undefined(d.lanes(both), 1) for name in names}
    bits = bits_of(kind)
    a, b = (e.read(x, bits) for x in instr.args[1:3])
    u = d.whole([d.of(x, bits) for x in instr.args[1:3]], bits)
    if u is not None and kind in _INTEGERS and test in ("eq", "ne"):
        u = d.either(*(d.of(x, bits) for x in instr.args[1:3]))
        assert u is not None
        vector = f"<32 x i{bits}>"
        differ = e.ins(f"xor {vector} {e.vector(a)}, {e.vector(b)}")
        defined = e.ins(f"xor {vector} {d.exact(u)}, splat (i{bits} -1)")
        settled = e.ins(f"icmp ne {vector} {e.ins(f'and {vector} {differ}, {defined}')}, zeroinitializer")
        unsettled = e.ins(f"xor <32 x i1> {settled}, splat (i1 true)")
        u = Undefined(e.ins(f"and <32 x i1> {d.lanes(u)}, {unsettled}"), 1)
    compared = None if u is None else Undefined(d.lanes(u), 1)
    joiner = next((m for m in instr.mods if m in ("and", "or", "xor")), None)
    if joiner is None or len(instr.args) < 4:
        return dict.fromkeys(names, compared)
    other = d.of(instr.args[3], 1)
    total = d.either(compared, other)
    if total is None or joiner == "xor":
        return dict.fromkeys(names, total)
    results: Results = {}
    outcome = compare(e, test, kind, a, b, "ftz" in instr.mods and not e.unit.program.flush_denormals)
    for i, name in enumerate(names):  # the second is that of the opposite comparison
        first = e.invert(outcome) if i else outcome
        found = total.name
        for value, part in ((first, compared), (e.read(instr.args[3], 1), other)):
            open_lanes = e.vector(value if joiner == "and" else e.invert(value))
            if part is not None:
                open_lanes = e.ins(f"or <32 x i1> {open_lanes}, {part.name}")
            found = e.ins(f"and <32 x i1> {found}, {open_lanes}")
        results[name] = Undefined(found, 1)
    return results


# -- operations of the warp ---------------------------------------------------------------------------------


def _head(d: Definedness) -> list[tuple[str, str]]:
    return [("ptr", "%w"), ("i32", d.e.active_bits())]


def _shfl(d: Definedness, instr: Instr) -> Results:
    e, modes = d.e, {"up": 0, "down": 1, "bfly": 2, "idx": 3}
    names = destinations(instr)
    mode = ("i32", str(next(modes[m] for m in instr.mods if m in modes)))
    value, control = d.of(instr.args[1], 32), [d.of(a, 32) for a in instr.args[2:4]]
    results: Results = {name: d.whole(control, e.register_bits(name)) for name in names}
    if value is not None:
        out = e.alloca(128)
        operands = [e.spill(d.value(value, 32)), *(e.spill(e.read(a, 32)) for a in instr.args[2:4])]
        e.call("void", "rt_undefined_shfl", [*_head(d), mode, ("ptr", out), *(("ptr", p) for p in operands)])
        results[names[0]] = d.either(d.reload(out, 32), results[names[0]])
    return results


def _members(d: Definedness, instr: Instr) -> tuple[str, str]:
    e = d.e
    if instr.op == "vote" and "sync" not in instr.mods:
        return "ptr", e.spill(e.uniform(e.active_bits(), 32))
    return "ptr", e.spill(e.read(instr.args[-1], 32))


def _vote(d: Definedness, instr: Instr) -> Results:
    e, u = d.e, d.of(instr.args[1], 1)
    if u is None:
        return {}
    mode = next(i for i, m in enumerate(("all", "any", "uni", "ballot")) if m in instr.mods)
    value, undefined = (
        e.ins(f"bitcast <32 x i1> {v} to i32") for v in (e.vector(e.read(instr.args[1], 1)), u.name)
    )
    out = e.alloca(128)
    operands = [_members(d, instr), ("i32", value), ("i32", undefined), ("ptr", out)]
    e.call("void", "rt_undefined_vote", [*_head(d), ("i32", str(mode)), *operands])
    if mode == 3:
        return _single(instr, d.reload(out, 32))
    return _single(instr, d.from_mask(e.ins(f"load i32, ptr {out}")))


def _group(d: Definedness, instr: Instr) -> Results:
    """match, redux: one undefined operand makes the results of its group undefined."""
    e = d.e
    lanes = d.any_of([d.of_register(n) for n in operand_names(instr.args[1])])
    if not lanes:
        return {}
    mask = e.ins(f"bitcast <32 x i1> {lanes} to i32")
    result = e.call("i32", "rt_undefined_group", [*_head(d), _members(d, instr), ("i32", mask)])
    return {name: d.from_mask(result, e.register_bits(name)) for name in destinations(instr)}


def registers(operand: Operand) -> list[Operand]:
    return list(operand.items) if isinstance(operand, Vec) else [operand]


def _mma(d: Definedness, instr: Instr) -> Results:
    e = d.e
    descriptor, kinds = mma_description(e, instr)
    operands = [instr.args[i] for i in (1, 2, 3, 0)]
    widths = [64 if kind == "f64" else 32 for kind in kinds]
    counts = sum(len(registers(o)) << 8 * i for i, o in enumerate(operands))
    pointers = [
        d.spill([d.of(x, bits) for x in registers(o)], bits)
        for o, bits in zip(operands[:3], widths[:3], strict=True)
    ]
    if pointers == ["null"] * 3:
        return {}
    targets = registers(instr.args[0])
    out = e.alloca(widths[3] * 4 * len(targets))
    counts -= (counts >> 31) << 32
    e.call("void", "rt_undefined_mma", [
        *_head(d), descriptor, ("ptr", out), *(("ptr", p) for p in pointers), ("i32", str(counts)),
        ("i32", str(int(instr.op == "wmma")))])  # fmt: skip
    return {t.name: d.reload(out, widths[3], i) for i, t in enumerate(targets) if isinstance(t, Reg)}


RULES: dict[str, Rule] = {
    **dict.fromkeys(("add", "sub", "mul", "mad", "neg", "cvta"), _carrying),
    **dict.fromkeys(("and", "or", "xor"), _logic), "not": _not, "lop3": _lop3,
    **dict.fromkeys(("shl", "shr"), _same_on_bits(2)), "prmt": _same_on_bits(3), "shf": _same_on_bits(3),
    "bfe": _same_on_bits(2, 3), "bfi": _same_on_bits(3, 4), "brev": _same_on_bits(), "movmatrix": _same_on_bits(),
    "slct": _same_on_bits(3), "mov": _mov, "cvt": _cvt, "selp": _selp, "setp": _setp,
    "shfl": _shfl, "vote": _vote, "match": _group, "redux": _group,
    "mma": _mma, "wmma": _mma,
}  # fmt: skip
