"""Undefined bits of registers (--check init), as valgrind's memcheck follows them.

Beside a register that may hold what nobody has written goes a vector of its undefined bits. Loads take it from the
shadow of memory and stores put it there (undefined_memory.py, runtime/checks_init.cpp); every other instruction
passes it on by its rule (undefined_rules.py). Undefined bits are reported where they decide something: a branch,
whether an instruction with effects is carried out, an address. Whether results are defined is asked after the launch.

Which registers may be concerned at all is known beforehand (origins.py): what is computed from parameters, thread
numbers and constants alone costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evoengineer.sim.codegen.emitter import Emitter, Val
from evoengineer.sim.codegen.origins import CARRY, SETTLED
from evoengineer.sim.codegen.unit import EFFECTS
from evoengineer.sim.ptx.flow import destinations, operand_names, sources
from evoengineer.sim.ptx.model import Addr, Instr, Not, Operand, Reg

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

    def __init__(self, e: Emitter, rules: Rules) -> None:
        self.e, self._rules = e, rules
        self.known: dict[str, Undefined | None] = {}  # None: all defined
        self.in_file: set[str] = (
            set()
        )  # registers whose undefined bits the access just written has put there (runs.py)
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
            pointer = self.e.undefined_in_file(name)
            if pointer is not None:
                return Undefined(self.e.ins(f"load <32 x i32>, ptr {pointer}, align 64"), 32)
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
            new = self.bits_of(self.known.get(name))
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

    def bits_of(self, u: Undefined | None) -> str:
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
        self.address, self.in_file = "", set()
        after = self._rules.memory.get(instr.op)
        if after is not None and not (instr.op == "wmma" and "mma" in instr.mods):
            handler(self.e, instr)
            results = after(self, instr)
        else:  # operands are read before the result takes the place of one
            results = self._before(instr)
            handler(self.e, instr)
        for name in destinations(instr):
            if name in self.in_file:
                self.known.pop(name, None)
            else:
                self.known[name] = self._fit(results.get(name), name)

    def _before(self, instr: Instr) -> Results:
        if "cc" in instr.mods:
            carry = self.whole([self.of_register(name) for name in all_sources(instr)], 1)
        if instr.op in SETTLED or not any(name in self.e.unit.origins for name in all_sources(instr)):
            results: Results = {}
        else:
            results = self._rules.values.get(instr.op, self._rules.default)(self, instr)
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
            new, old_bits = self.bits_of(now), self.bits_of(before)
            picked = e.ins(f"select <32 x i1> {e.vector(guard)}, {kind} {new}, {kind} {old_bits}")
            if guard_bits is not None:
                picked = e.ins(f"or {kind} {picked}, {self.spread(self.lanes(guard_bits), bits)}")
            self.known[name] = Undefined(picked, bits)


def all_sources(instr: Instr) -> tuple[str, ...]:
    """Registers that the result hangs on, the carry flag included."""
    return sources(instr) + ((CARRY,) if instr.op in ("addc", "subc", "madc") else ())


Results = dict[str, Undefined | None]
Rule = Callable[[Definedness, Instr], Results]


@dataclass(frozen=True, slots=True)
class Rules:
    """How instructions pass undefined bits on. Those of `memory` run after the instruction's own code."""

    values: dict[str, Rule]
    default: Rule
    memory: dict[str, Rule]


class Around:
    """An instruction that is branched around where its guard is false: its results' bits go through memory, since
    the code behind knows nothing of what the code in between has named."""

    def __init__(self, d: Definedness, instr: Instr, guard: Val, names: Sequence[str]) -> None:
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
