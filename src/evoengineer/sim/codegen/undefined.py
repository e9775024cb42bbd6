"""Undefined bits of registers (--check init), as valgrind's memcheck follows them.

Beside a register that may hold what nobody has written goes a vector of its undefined bits. Loads take it from the
shadow of memory, stores put it there (runtime/checks_init.cpp), every other instruction passes it on by its rule
below. Undefined bits are reported where they decide something: a branch, whether an instruction with effects is
carried out, an address. Whether results are defined is asked after the launch.

Which registers may be concerned at all is known beforehand (origins.py): what is computed from parameters, thread
numbers and constants alone costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evoengineer.sim.codegen.bits import lop3_of
from evoengineer.sim.codegen.emitter import Emitter, Val, bits_of
from evoengineer.sim.codegen.handlers import HANDLERS
from evoengineer.sim.codegen.moves import compare, pack, unpack
from evoengineer.sim.codegen.origins import CARRY, SETTLED, reads_memory
from evoengineer.sim.codegen.unit import EFFECTS
from evoengineer.sim.codegen.warp import mma_description, wmma_description
from evoengineer.sim.ptx.flow import destinations, operand_names, sources
from evoengineer.sim.ptx.model import Addr, Instr, Not, Operand, Reg, Vec

# enum Use in runtime/checks_init.cpp
BRANCH, GUARD, ADDRESS, REDUCTION, TARGET, COORDINATE = range(6)


@dataclass(frozen=True, slots=True)
class Undefined:
    """A vector of 32 lanes; a bit is set where the register's is undefined. `whole`: one bit stands for all."""

    name: str
    bits: int
    whole: bool = False


# -- what is known while a block is written ----------------------------------------------------------------


class Definedness:
    """The undefined bits of the registers of the current block."""

    def __init__(self, e: Emitter) -> None:
        self.e = e
        self.known: dict[str, Undefined | None] = {}  # None: all defined
        # Of the access just written: pointers to the lanes' addresses, and to the stride of a matrix.
        self.address = self.stride = ""

    def of(self, operand: Operand, bits: int) -> Undefined | None:
        """The undefined bits of an operand, read as so many bits."""
        if isinstance(operand, Not):
            return self.of(operand.reg, 1)
        if not isinstance(operand, Reg):
            return None
        found = self.of_register(operand.name)
        if found is None or found.bits == bits:
            return found
        word = "trunc" if bits < found.bits else "zext"
        name = self.e.ins(f"{word} <32 x i{found.bits}> {self.exact(found)} to <32 x i{bits}>")
        return Undefined(name, bits)

    def of_register(self, name: str) -> Undefined | None:
        if name not in self.e.unit.origins:
            return None
        if name not in self.known:
            self.known[name] = self._load_slot(name)
        return self.known[name]

    def _load_slot(self, name: str) -> Undefined | None:
        if name not in self.e.unit.shadow_slots:
            return None
        e, bits = self.e, self.e.register_bits(name)
        pointer = e.frame(e.unit.shadow_slots[name])
        if bits == 1:
            mask = e.ins(f"load i32, ptr {pointer}, align 4")
            return Undefined(e.ins(f"bitcast i32 {mask} to <32 x i1>"), 1)
        return Undefined(e.ins(f"load <32 x i{bits}>, ptr {pointer}, align 64"), bits)

    def store_slots(self, live_out: set[str]) -> None:
        """At the end of a block: put what lives on into the frame."""
        e = self.e
        for name in sorted(e.written & live_out & e.unit.shadow_slots.keys()):
            bits, pointer = e.register_bits(name), e.frame(e.unit.shadow_slots[name])
            kind = f"<32 x i{bits}>"
            new = self.bits_of(self.known.get(name), bits)
            if bits == 1:
                new = e.ins(f"bitcast {kind} {new} to i32")
                old = e.ins(f"load i32, ptr {pointer}, align 4")
                changed = e.ins(f"and i32 {e.ins(f'xor i32 {new}, {old}')}, {e.mask_bits}")
                e.do(f"store i32 {e.ins(f'xor i32 {old}, {changed}')}, ptr {pointer}, align 4")
                continue
            old = e.ins(f"load {kind}, ptr {pointer}, align 64")
            new = e.ins(f"select <32 x i1> {e.mask}, {kind} {new}, {kind} {old}")
            e.do(f"store {kind} {new}, ptr {pointer}, align 64")

    # -- forms ---------------------------------------------------------------------------------------

    def exact(self, u: Undefined) -> str:
        """The vector with every undefined bit set."""
        if not u.whole or u.bits == 1:
            return u.name
        return self.spread(self.lanes(u), u.bits)

    def bits_of(self, u: Undefined | None, bits: int) -> str:
        return "zeroinitializer" if u is None else self.exact(u)

    def lanes(self, u: Undefined) -> str:
        """<32 x i1>: the lanes that have undefined bits."""
        if u.bits == 1:
            return u.name
        return self.e.ins(f"icmp ne <32 x i{u.bits}> {u.name}, zeroinitializer")

    def spread(self, lanes: str, bits: int) -> str:
        return lanes if bits == 1 else self.e.ins(f"sext <32 x i1> {lanes} to <32 x i{bits}>")

    def value(self, u: Undefined | None, bits: int) -> Val:
        """For the functions that work on values."""
        return self.e.constant(0, bits) if u is None else self.e.varying(self.exact(u), bits)

    def either(self, *parts: Undefined | None) -> Undefined | None:
        """Bit by bit; all of one width."""
        some = [p for p in parts if p is not None]
        if len(some) < 2:
            return some[0] if some else None
        kind, name = f"<32 x i{some[0].bits}>", self.exact(some[0])
        for part in some[1:]:
            name = self.e.ins(f"or {kind} {name}, {self.exact(part)}")
        return Undefined(name, some[0].bits)

    def any_of(self, parts: list[Undefined | None]) -> str:
        """<32 x i1>: the lanes in which one of them has undefined bits; "" if there can be none."""
        total = ""
        for part in parts:
            if part is not None:
                here = self.lanes(part)
                total = self.e.ins(f"or <32 x i1> {total}, {here}") if total else here
        return total

    def whole(self, parts: list[Undefined | None], bits: int) -> Undefined | None:
        """One undefined bit makes all of the result undefined."""
        some = [p for p in parts if p is not None]
        if not some:
            return None
        if all(p.bits == bits for p in some):
            name = some[0].name
            for part in some[1:]:
                name = self.e.ins(f"or <32 x i{bits}> {name}, {part.name}")
            return Undefined(name, bits, True)
        return Undefined(self.spread(self.any_of(parts), bits), bits)

    def elements(self, u: Undefined | None, width: int) -> Undefined | None:
        """The same for each element of `width` bits."""
        if u is None or u.whole:
            return u
        e, count = self.e, 32 * u.bits // width
        small, kind = f"<{count} x i{width}>", f"<32 x i{u.bits}>"
        parts = e.ins(f"bitcast {kind} {u.name} to {small}")
        some = e.ins(f"icmp ne {small} {parts}, zeroinitializer")
        wide = e.ins(f"sext <{count} x i1> {some} to {small}")
        return Undefined(e.ins(f"bitcast {small} {wide} to {kind}"), u.bits)

    def upward(self, u: Undefined | None) -> Undefined | None:
        """From the lowest undefined bit on: what carries may reach."""
        if u is None or u.whole or u.bits == 1:
            return u
        kind = f"<32 x i{u.bits}>"
        negative = self.e.ins(f"sub {kind} zeroinitializer, {u.name}")
        return Undefined(self.e.ins(f"or {kind} {u.name}, {negative}"), u.bits)

    def reload(self, pointer: str, bits: int, index: int = 0) -> Undefined:
        return Undefined(self.e.reload(pointer, bits, index).names[0], bits)

    def from_mask(self, mask: str, bits: int = 1) -> Undefined:
        """An i32 of lanes."""
        return Undefined(self.spread(self.e.ins(f"bitcast i32 {mask} to <32 x i1>"), bits), bits)

    def spill(self, parts: list[Undefined | None], bits: int) -> str:
        """Vectors one after the other in memory; "null" if all are defined."""
        if not any(parts):
            return "null"
        return self.e.spill_all([self.value(p, bits) for p in parts])

    # -- reports ---------------------------------------------------------------------------------------

    def require(self, operands: list[Operand], instr: Instr, use: int) -> None:
        """Undefined bits of these registers, in an active lane, are an error here."""
        names = [name for operand in operands for name in operand_names(operand)]
        parts = [self.of_register(name) for name in names]
        lanes = self.any_of(parts)
        if not lanes:
            return
        e = self.e
        bits = e.ins(f"and i32 {e.ins(f'bitcast <32 x i1> {lanes} to i32')}, {e.active_bits()}")
        bad, good = e.new_label("undefined"), e.new_label("defined")
        e.do(f"br i1 {e.ins(f'icmp eq i32 {bits}, 0')}, label %{good}, label %{bad}, !prof !1")
        e.label(bad)
        origins = 0
        for name in names:
            origins |= e.unit.origins.get(name, 0)
        sites = [i for i in range(origins.bit_length()) if origins >> i & 1]
        table = e.numbers(sites)
        e.call("void", "rt_undefined_used", [
            ("ptr", "%w"), ("i32", str(e.unit.sites[id(instr)])), ("i32", bits), ("i32", str(use)),
            ("ptr", table), ("i32", str(len(sites)))])  # fmt: skip
        e.branch(good)
        e.label(good)

    def require_operands(self, instr: Instr) -> None:
        """What an instruction must know before it can be carried out at all."""
        if instr.op == "call":
            if isinstance(instr.args[0], Reg):
                self.require([instr.args[0]], instr, TARGET)
        elif instr.op in ("tex", "tld4", "suld", "sust"):
            self.require([Reg(n) for n in sources(instr)], instr, COORDINATE)
        elif id(instr) in self.e.unit.sites:
            wanted: list[Operand] = [a for a in instr.args if isinstance(a, Addr)]
            if instr.op == "cp" or (instr.op == "wmma" and "mma" not in instr.mods):
                wanted += [a for a in instr.args[2:] if isinstance(a, Reg)]
            self.require(wanted, instr, ADDRESS)

    # -- instructions -------------------------------------------------------------------------------------

    def run(self, instr: Instr, handler: Callable[[Emitter, Instr], None]) -> None:
        """Write an instruction's code, and that of its undefined bits."""
        self.require_operands(instr)
        self.address = ""
        after = AFTER.get(instr.op)
        if after is not None and not (instr.op == "wmma" and "mma" in instr.mods):
            handler(self.e, instr)
            results = after(self, instr)
        else:  # operands are read before the result takes the place of one
            results = self._before(instr)
            handler(self.e, instr)
        for name in destinations(instr):
            self.known[name] = self._fit(results.get(name), name)

    def _before(self, instr: Instr) -> Results:
        if "cc" in instr.mods:
            carry = self.whole([self.of_register(name) for name in _all_sources(instr)], 1)
        if instr.op in SETTLED or not any(name in self.e.unit.origins for name in _all_sources(instr)):
            results: Results = {}
        else:
            results = RULES.get(instr.op, default)(self, instr)
        if "cc" in instr.mods:
            self.known[CARRY] = carry
        return results

    def _fit(self, u: Undefined | None, name: str) -> Undefined | None:
        """For a register that is wider or narrower than the instruction's type."""
        bits = self.e.register_bits(name)
        if u is None or u.bits == bits:
            return u
        word = "trunc" if bits < u.bits else "zext"
        return Undefined(self.e.ins(f"{word} <32 x i{u.bits}> {self.exact(u)} to <32 x i{bits}>"), bits)

    def blend(self, guard: Val, guard_bits: Undefined | None, old: dict[str, Undefined | None]) -> None:
        """Registers keep their bits where a guard was false; if it was undefined itself, so are they."""
        e = self.e
        for name, before in old.items():
            now, bits = self.known.get(name), e.register_bits(name)
            if now is None and before is None and guard_bits is None:
                continue
            kind = f"<32 x i{bits}>"
            picked = e.ins(
                f"select <32 x i1> {e.vector(guard)}, {kind} {self.bits_of(now, bits)}, {kind} {self.bits_of(before, bits)}"
            )
            if guard_bits is not None:
                picked = e.ins(f"or {kind} {picked}, {self.spread(self.lanes(guard_bits), bits)}")
            self.known[name] = Undefined(picked, bits)


_INTEGERS = {f"{sign}{bits}" for sign in "sub" for bits in (8, 16, 32, 64)}
Results = dict[str, Undefined | None]
Rule = Callable[[Definedness, Instr], Results]


class Around:
    """An instruction that is branched around where its guard is false: its results' bits go through memory, since
    the code behind knows nothing of what the code in between has named."""

    def __init__(self, d: Definedness, instr: Instr, guard: Val, names: list[str]) -> None:
        self._d, self._guard, self._names = d, guard, names
        assert instr.guard is not None
        self._guard_bits = d.of(instr.guard, 1)
        self._old = {name: d.of_register(name) for name in names}
        for name in sources(instr):
            d.of_register(name)
        d.e.vector(guard)
        if instr.op in EFFECTS and id(instr) in d.e.unit.sites:
            d.require([instr.guard], instr, GUARD)
        self._known = dict(d.known)
        self._held: dict[str, str] = {}

    def hold(self) -> None:
        """At the end of the guarded code."""
        d = self._d
        for name in self._names:
            u = d.known.get(name)
            if u is not None:
                self._held[name] = d.e.spill(d.value(u, u.bits))
        d.known = self._known

    def merge(self) -> None:
        """Behind it."""
        d = self._d
        for name in self._names:
            held = self._held.get(name)
            d.known[name] = d.reload(held, d.e.register_bits(name)) if held else None
        d.blend(self._guard, self._guard_bits, self._old)


def _all_sources(instr: Instr) -> list[str]:
    return sources(instr) + ([CARRY] if instr.op in ("addc", "subc", "madc") else [])


def default(d: Definedness, instr: Instr) -> Results:
    """A result hangs on every bit of the operands; packed types element by element."""
    e = d.e
    parts = [
        d.of_register(name) for name in _all_sources(instr) if name != getattr(instr.guard, "name", None)
    ]
    results: Results = {}
    for name in destinations(instr):
        bits = e.register_bits(name)
        if (
            instr.mods
            and instr.mods[-1] in ("f16x2", "bf16x2")
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
    parts = [d.bits_of(d.of(a, 32), 32) for a in instr.args[1:4]]
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
    name = d.bits_of(None, bits)
    if u is not None or v is not None:
        test = e.vector(e.read(p, 1))
        name = e.ins(f"select <32 x i1> {test}, {kind} {d.bits_of(u, bits)}, {kind} {d.bits_of(v, bits)}")
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
    e.call("void", "rt_undefined_vote", [
        *_head(d), ("i32", str(mode)), _members(d, instr), ("i32", value), ("i32", undefined), ("ptr", out)])  # fmt: skip
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


def _registers(operand: Operand) -> list[Operand]:
    return list(operand.items) if isinstance(operand, Vec) else [operand]


def _mma(d: Definedness, instr: Instr) -> Results:
    e = d.e
    descriptor, kinds = mma_description(e, instr)
    operands = [instr.args[i] for i in (1, 2, 3, 0)]
    widths = [64 if kind == "f64" else 32 for kind in kinds]
    counts = sum(len(_registers(o)) << 8 * i for i, o in enumerate(operands))
    pointers = [
        d.spill([d.of(x, bits) for x in _registers(o)], bits)
        for o, bits in zip(operands[:3], widths[:3], strict=True)
    ]
    if pointers == ["null"] * 3:
        return {}
    targets = _registers(instr.args[0])
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


# -- memory: rules that need the addresses which the instruction's code has found -------------------------------


def _site(d: Definedness, instr: Instr) -> tuple[str, str]:
    return "i32", str(d.e.unit.sites[id(instr)])


def _ld(d: Definedness, instr: Instr) -> Results:
    e = d.e
    if not d.address or not reads_memory(instr):
        return {}
    kind = instr.mods[-1]
    bytes_ = bits_of(kind) // 8
    targets = _registers(instr.args[0])
    out = e.alloca(32 * bytes_ * len(targets))
    e.call("void", "rt_undefined_load", [
        ("ptr", "%w"), _site(d, instr), ("i32", e.active_bits()), ("ptr", d.address), ("ptr", out),
        ("i32", str(bytes_)), ("i32", str(len(targets)))])  # fmt: skip
    results: Results = {}
    for i, target in enumerate(targets):
        if isinstance(target, Reg) and target.name != "_":
            u, bits = d.reload(out, bytes_ * 8, i), e.register_bits(target.name)
            if bits != u.bits:
                word = "trunc" if bits < u.bits else "sext" if kind[0] == "s" else "zext"
                u = Undefined(e.ins(f"{word} <32 x i{u.bits}> {u.name} to <32 x i{bits}>"), bits)
            results[target.name] = u
    return results


def _st(d: Definedness, instr: Instr) -> Results:
    if not d.address:  # a parameter or a result of a call: not followed
        return {}
    bits = bits_of(instr.mods[-1])
    parts = [d.of(x, bits) for x in _registers(instr.args[1])]
    _define(d, d.spill(parts, bits), bits // 8, len(parts))
    return {}


def _define(d: Definedness, undefined: str, bytes_: int, count: int) -> None:
    d.e.call("void", "rt_undefined_store", [
        *_head(d), ("ptr", d.address), ("ptr", undefined), ("i32", str(bytes_)), ("i32", str(count))])  # fmt: skip


def _atom(d: Definedness, instr: Instr) -> Results:
    e, bits = d.e, bits_of(instr.mods[-1])
    returns = instr.op == "atom"
    operands = [d.of(a, bits) for a in instr.args[2 if returns else 1 :]]
    kind = 1 if "exch" in instr.mods else 2 if {"and", "or", "xor"} & set(instr.mods) else 0
    out = e.alloca(bits * 4) if returns else "null"
    given = d.spill([d.either(*operands)], bits)
    e.call("void", "rt_undefined_atomic", [
        ("ptr", "%w"), _site(d, instr), ("i32", e.active_bits()), ("ptr", d.address), ("ptr", given), ("ptr", out),
        ("i32", str(bits // 8)), ("i32", str(kind))])  # fmt: skip
    return _single(instr, d.reload(out, bits)) if returns else {}


def _mbarrier(d: Definedness, instr: Instr) -> Results:
    if "init" in instr.mods and d.address:
        _define(d, "null", 8, 1)
    return {}


def _ldmatrix(d: Definedness, instr: Instr) -> Results:
    e = d.e
    count = next((int(m[1:]) for m in instr.mods if m in ("x1", "x2", "x4")), 1)
    shape = [("i32", str(count)), ("i32", str(int("trans" in instr.mods)))]
    if instr.op == "stmatrix":
        given = d.spill([d.of(x, 32) for x in _registers(instr.args[1])], 32)
        e.call("void", "rt_undefined_stmatrix", [*_head(d), *shape, ("ptr", given), ("ptr", d.address)])
        return {}
    out = e.alloca(128 * count)
    e.call("void", "rt_undefined_ldmatrix", [
        ("ptr", "%w"), _site(d, instr), ("i32", e.active_bits()), *shape, ("ptr", out), ("ptr", d.address)])  # fmt: skip
    return {
        t.name: d.reload(out, 32, i) for i, t in enumerate(_registers(instr.args[0])) if isinstance(t, Reg)
    }


def _wmma(d: Definedness, instr: Instr) -> Results:
    e = d.e
    descriptor, layout, which, bits = wmma_description(instr)
    stride = ("ptr", d.stride)
    if "store" in instr.mods:
        given = d.spill([d.of(x, bits) for x in _registers(instr.args[1])], bits)
        e.call("void", "rt_undefined_wmma_store", [
            *_head(d), descriptor, layout, ("ptr", given), ("ptr", d.address), stride])  # fmt: skip
        return {}
    targets = _registers(instr.args[0])
    out = e.alloca(bits * 4 * len(targets))
    e.call("void", "rt_undefined_wmma_load", [
        ("ptr", "%w"), _site(d, instr), ("i32", e.active_bits()), descriptor, which, layout, ("ptr", out),
        ("ptr", d.address), stride])  # fmt: skip
    return {t.name: d.reload(out, bits, i) for i, t in enumerate(targets) if isinstance(t, Reg)}


AFTER: dict[str, Rule] = {
    "ld": _ld, "ldu": _ld, "st": _st, "atom": _atom, "red": _atom, "mbarrier": _mbarrier,
    "ldmatrix": _ldmatrix, "stmatrix": _ldmatrix, "wmma": _wmma,
}  # fmt: skip
