"""Writes LLVM IR for the instructions of one basic block after another.

A `Val` is a value in one of the forms of forms.py. Instruction handlers (integer.py, memory.py …, listed in
handlers.py) read operands as values and write results; what they compute they write once, as a function of a lane
count n, 1 or 32, and names, which `alu` calls for scalars or for vectors. Which of the two follows from the
operands' forms.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evoengineer.errors import PtxError, UnsupportedError
from evoengineer.sim.codegen import abi
from evoengineer.sim.codegen.forms import UNIFORM, Form, flat_segments, special_form
from evoengineer.sim.codegen.steps import Steps, firsts, refined
from evoengineer.sim.codegen.unit import FunctionUnit
from evoengineer.sim.ptx.model import TYPE_BYTES, Imm, Instr, Not, Operand, Reg, Sym
from evoengineer.sim.ptx.parser import single

if TYPE_CHECKING:
    from evoengineer.sim.codegen.bounds import CheckGroup
    from evoengineer.sim.codegen.undefined import Definedness
    from evoengineer.sim.ptx.flow import Block

FLOAT_BITS = {"half": 16, "i16": 16, "float": 32, "double": 64}


def bits_of(ptx_type: str) -> int:
    """Width in bits of a PTX type; predicates have 1."""
    if ptx_type not in TYPE_BYTES:
        raise UnsupportedError(f"PTX type .{ptx_type} is not supported by the simulated GPU")
    return TYPE_BYTES[ptx_type] * 8 or 1


@dataclass(slots=True)
class Val:
    """A value: scalar names (one per segment) when it has a form, else one vector name."""

    bits: int
    form: Form | None
    names: list[str]
    type: str  # LLVM element type of the names
    const: int | None = None

    @property
    def flat(self) -> bool:
        """Is it made of scalars alone, one per segment, with nothing added per lane?"""
        return self.form is not None and self.form.flat


@dataclass(frozen=True, slots=True)
class Rounds:
    """Of a loop of one block: names of the ticks that were left when its rounds were last counted, and now."""

    block: Block
    given: str
    left: str


class Emitter:
    """Shared by FAST (mask is None) and SLOW (mask names the vector of active lanes)."""

    def __init__(self, unit: FunctionUnit, fast: bool) -> None:
        self.unit = unit
        self.fast = fast
        self.counting = False  # SLOW that reports every access to the runtime (runtime/count.h)
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self.stack_bytes = 0  # of them
        self.scratches: dict[int, str] = {}
        self.declared: dict[str, str] = {}
        self.defined_functions: dict[str, str] = {}
        self.count = 0
        self.mask: str | None = None  # <32 x i1>; None means all lanes
        self.mask_bits: str = str(abi.FULL_MASK - (1 << 32))  # i32
        self.label_now = "start"
        self.env: dict[str, Val] = {}
        self.written: set[str] = set()
        self.casts: dict[tuple[str, str, int], str] = {}
        self.splats: dict[tuple[str | Steps, ...], str] = {}
        self.strings: list[str] = []
        self.block_index = 0
        self.effects = False  # has the block done something that must not be done twice?
        self.carried: dict[str, Val] = {}  # in a loop of one block: registers as they were at its start
        self.rounds: Rounds | None = None  # the same for how often it has run
        self.groups: dict[int, CheckGroup] = {}  # of the current block, see bounds.py
        self.shares_checks = fast and not unit.program.check_access
        self.instr: Instr | None = None
        self.defined: Definedness | None = (
            None  # undefined bits of registers, in code compiled for --check init
        )

    # -- text ------------------------------------------------------------------------------------

    def fresh(self) -> str:
        """A name that no value has yet."""
        self.count += 1
        return f"%v{self.count}"

    def ins(self, text: str) -> str:
        """Write an instruction that has a result; its name."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Write an instruction that has none."""
        self.lines.append(f"  {text}")

    def new_label(self, hint: str = "L") -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def label(self, name: str) -> None:
        """Begin an LLVM basic block."""
        self.lines.append(f"{name}:")
        self.label_now = name

    def branch(self, target: str) -> None:
        self.do(f"br label %{target}")

    def alloca(self, bytes_: int) -> str:
        """Room on the stack, the same for every execution of the block."""
        name = self.fresh()
        self.stack_bytes += -(-bytes_ // 64) * 64
        self.allocas.append(f"  {name} = alloca [{bytes_} x i8], align 64")
        return name

    def scratch(self, bytes_: int) -> str:
        """Room on the stack that is used again: what was put there is read before anything else is done."""
        if bytes_ not in self.scratches:
            self.scratches[bytes_] = self.alloca(bytes_)
        return self.scratches[bytes_]

    def declare(self, signature: str, name: str) -> None:
        """Declare an external function: `signature` is like `void @rt_x(ptr, i32)`."""
        self.declared[name] = f"declare {signature}"

    def define(self, name: str, text: str) -> None:
        """A function of the module's own; the same name has the same text everywhere."""
        self.defined_functions[name] = text

    def call(self, result: str, name: str, args: Sequence[tuple[str, str]]) -> str:
        """Call a runtime function or intrinsic; args are (type, name)."""
        self.declare(f"{result} @{name}({', '.join(t for t, _ in args)})", name)
        text = f"call {result} @{name}({', '.join(f'{t} {n}' for t, n in args)})"
        if result == "void":
            self.do(text)
            return ""
        return self.ins(text)

    @staticmethod
    def t(n: int, type_: str) -> str:
        """The LLVM type of n lanes."""
        return type_ if n == 1 else f"<{n} x {type_}>"

    @staticmethod
    def k(n: int, type_: str, value: int | str) -> str:
        """A constant of n lanes."""
        return str(value) if n == 1 else f"splat ({type_} {value})"

    def intrinsic(self, name: str, n: int, type_: str, *args: str) -> str:
        """An LLVM intrinsic overloaded on one type, e.g. llvm.fma."""
        suffix = {"half": "f16", "float": "f32", "double": "f64"}.get(type_, type_)
        full = f"llvm.{name}.{suffix if n == 1 else f'v{n}{suffix}'}"
        return self.call(self.t(n, type_), full, [(self.t(n, type_), a) for a in args])

    # -- values ----------------------------------------------------------------------------------

    def start_block(self) -> None:
        """Forget everything known of values: a new basic block of PTX begins."""
        self.env, self.written, self.casts, self.splats = {}, set(), {}, {}
        self.effects = False

    def constant(self, value: int, bits: int) -> Val:
        value &= (1 << bits) - 1
        signed = value - (1 << bits) if bits > 1 and value >> (bits - 1) else value
        return Val(bits, UNIFORM, [str(signed)], f"i{bits}", const=value)

    def uniform(self, name: str, bits: int, type_: str = "") -> Val:
        """A scalar that holds for all lanes."""
        return Val(bits, UNIFORM, [name], type_ or f"i{bits}")

    def varying(self, name: str, bits: int, type_: str = "") -> Val:
        """A vector of 32 lanes."""
        return Val(bits, None, [name], type_ or f"i{bits}")

    def cast(self, name: str, old: str, new: str, n: int) -> str:
        """The same bits under another type; written once for each value."""
        if old == new:
            return name
        key = (name, new, n)
        if key not in self.casts:
            text = self.k(n, old, name) if n > 1 and name.lstrip("-").isdigit() else name
            self.casts[key] = self.ins(f"bitcast {self.t(n, old)} {text} to {self.t(n, new)}")
        return self.casts[key]

    def extended(self, name: str) -> str:
        """A scalar of 32 bits with its sign in 64; written once for each."""
        key = (name, "i64", 1)
        if key not in self.casts:
            self.casts[key] = self.ins(f"sext i32 {name} to i64")
        return self.casts[key]

    def scalars(self, val: Val, type_: str, segments: int) -> list[str]:
        """The bases of a flat value, one per segment."""
        assert val.form is not None
        names = [self.cast(n, val.type, type_, 1) for n in val.names]
        return [names[i * len(names) // segments] for i in range(segments)]

    def vector(self, val: Val, type_: str = "") -> str:
        """All 32 lanes."""
        type_ = type_ or f"i{val.bits}"
        if val.form is None:
            return self.cast(val.names[0], val.type, type_, 32)
        key: tuple[str | Steps, ...] = (type_, val.form.steps, *val.names)
        if key not in self.splats:
            self.splats[key] = self._spread(val, type_)
        return self.splats[key]

    def _spread(self, val: Val, type_: str) -> str:
        assert val.form is not None
        kind, flat, count = f"i{val.bits}", val.flat, len(val.names)
        if val.const is not None and flat:
            const = f"splat ({kind} {val.names[0]})"
            return const if type_ == kind else self.ins(f"bitcast <32 x {kind}> {const} to <32 x {type_}>")
        lane = 32 // count
        source = val.type if flat else kind
        vec = "poison"
        for i, name in enumerate(val.names):
            name = self.cast(name, val.type, source, 1)
            vec = self.ins(f"insertelement <32 x {source}> {vec}, {source} {name}, i64 {i}")
        index = ", ".join(f"i32 {i // lane}" for i in range(32))
        vec = self.ins(f"shufflevector <32 x {source}> {vec}, <32 x {source}> poison, <32 x i32> <{index}>")
        if not flat:
            half = 1 << (val.bits - 1)
            steps = ((step + half) % (2 * half) - half for step in val.form.steps)
            vec = self.ins(f"add <32 x {kind}> {vec}, <{', '.join(f'{kind} {s}' for s in steps)}>")
        return self.cast(vec, source, type_, 32)

    def refine(self, val: Val, segments: int) -> Val:
        """The same value written with more segments."""
        assert val.form is not None
        if val.form.segments == segments:
            return val
        form, names = val.form.refined(segments), []
        for i, step in enumerate(firsts(val.form.steps, segments)):
            name = self.cast(val.names[i * val.form.segments // segments], val.type, f"i{val.bits}", 1)
            names.append(self.ins(f"add i{val.bits} {name}, {step}") if step else name)
        return Val(val.bits, form, names, f"i{val.bits}")

    # -- operands --------------------------------------------------------------------------------

    def register_bits(self, name: str) -> int:
        return bits_of(self.unit.body.registers[name])

    def read(self, operand: Operand, bits: int) -> Val:
        """An operand as an integer of that many bits (cut off, or extended by zeros)."""
        if isinstance(operand, Imm):
            return self._immediate(operand, bits)
        if isinstance(operand, Not):
            return self.invert(self.read(operand.reg, 1))
        if isinstance(operand, Sym):
            return self.resize(self.unit.symbol(self, operand), bits)
        if isinstance(operand, Reg):
            return self.resize(self.register(operand.name), bits)
        raise PtxError(f"operand {operand!r} is not a value in {self.where()}")

    def _immediate(self, imm: Imm, bits: int) -> Val:
        if imm.float_bits == 64 and bits == 32:  # a double literal where a float is wanted
            return self.constant(single(imm), 32)
        return self.constant(imm.value, bits)

    def resize(self, val: Val, bits: int) -> Val:
        """Cut off, or extend by zeros."""
        if val.bits == bits:
            return val
        if val.const is not None:
            return self.constant(val.const, bits)
        word = "trunc" if bits < val.bits else "zext"
        if word == "zext" and not val.flat:
            val = self.varying(self.vector(val), val.bits)
        n = 1 if val.form is not None else 32
        names = [self.cast(x, val.type, f"i{val.bits}", n) for x in val.names]
        names = [
            self.ins(f"{word} {self.t(n, f'i{val.bits}')} {x} to {self.t(n, f'i{bits}')}") for x in names
        ]
        return Val(bits, val.form, names, f"i{bits}")

    def invert(self, val: Val) -> Val:
        """All bits turned; of a predicate: not."""
        if val.const is not None:
            return self.constant(~val.const, val.bits)
        if not val.flat:
            val = self.varying(self.vector(val), val.bits)
        n = 1 if val.form is not None else 32
        one = "true" if val.bits == 1 else "-1"
        kind = f"i{val.bits}"
        names = [self.ins(f"xor {self.t(n, kind)} {x}, {self.k(n, kind, one)}") for x in val.names]
        return Val(val.bits, val.form, names, kind)

    def register(self, name: str) -> Val:
        """A register's present value, from the frame where the block has not set it; or a special register."""
        if name not in self.unit.body.registers:
            return self.unit.special(self, name)
        if name not in self.env:
            self.env[name] = self.load_slot(name)
        return self.env[name]

    def undefined_in_file(self, name: str) -> str | None:
        """A pointer to the undefined bits of a register that a run has computed (runs.py); None if it has not."""
        return None

    def slot_form(self, name: str) -> Form | None:
        """The form in which a register lies in the frame: in SLOW always a vector."""
        return self.unit.forms[name] if self.fast else None

    def load_slot(self, name: str) -> Val:
        """A register as it lies in the frame."""
        bits = self.register_bits(name)
        if name not in self.unit.slots:  # read before any write on every path: any value, but none to rely on
            return self.constant(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little"), bits)
        form, (scalar, vector) = self.slot_form(name), self.unit.slots[name]
        if form is None:
            pointer = self.frame(vector)
            if bits == 1:
                mask = self.ins(f"load i32, ptr {pointer}, align 4")
                return self.varying(self.ins(f"bitcast i32 {mask} to <32 x i1>"), 1)
            return self.varying(self.ins(f"load <32 x i{bits}>, ptr {pointer}, align 64"), bits)
        names = []
        for i in range(form.segments):
            pointer = self.frame(scalar + i * max(bits // 8, 1))
            kind = "i8" if bits == 1 else f"i{bits}"
            loaded = self.ins(f"load {kind}, ptr {pointer}")
            names.append(self.ins(f"trunc i8 {loaded} to i1") if bits == 1 else loaded)
        return Val(bits, form, names, f"i{bits}")

    def frame(self, offset: int) -> str:
        """A pointer into the frame."""
        return self.ins(f"getelementptr inbounds i8, ptr %frame, i64 {offset}")

    def warp_field(self, offset: int, type_: str) -> str:
        """Read a field of the warp's state, by its offset (abi.py)."""
        pointer = self.ins(f"getelementptr inbounds i8, ptr %w, i64 {offset}")
        return self.ins(f"load {type_}, ptr {pointer}")

    def set_warp_field(self, offset: int, type_: str, value: str) -> None:
        pointer = self.ins(f"getelementptr inbounds i8, ptr %w, i64 {offset}")
        self.do(f"store {type_} {value}, ptr {pointer}")

    def write(self, operand: Operand, val: Val) -> None:
        """Give a register its new value, as far as the current guard allows."""
        if not isinstance(operand, Reg):
            raise PtxError(f"destination {operand!r} is not a register in {self.where()}")
        if operand.name == "_":
            return
        bits = self.register_bits(operand.name)
        if bits != val.bits:
            val = self.resize(val, bits)
        known = self.unit.forms.get(operand.name) if self.fast else None
        if known is not None and val.form is not None and self._like(val.form, known):
            val = self.refine(val, known.segments)
            val = Val(val.bits, known, val.names, val.type)  # which knows more of it
        self.env[operand.name] = val
        self.written.add(operand.name)

    @staticmethod
    def _like(form: Form, known: Form) -> bool:
        """Is it the known form once it has as many segments?"""
        return form.segments <= known.segments and refined(form.steps, known.segments) == known.steps

    def store_slots(self, live_out: set[str]) -> None:
        """At the end of a block: put what lives on into the frame."""
        for name in sorted(self.written & live_out):
            self.store_slot(name, self.register(name))

    def in_slot_form(self, name: str, val: Val) -> list[str]:
        """A value in the form in which the register is kept: scalars, or one vector."""
        form = self.slot_form(name)
        if form is None:
            return [self.vector(val)]
        if val.form is None and form.flat:  # done by the runtime on vectors, though uniform
            picks = [
                self.ins(
                    f"extractelement <32 x {val.type}> {val.names[0]}, i32 {self._a_lane(i, form.segments)}"
                )
                for i in range(form.segments)
            ]
            val = Val(val.bits, form, picks, val.type)
        assert val.form is not None, (name, val, form, self.where())
        val = self.refine(val, form.segments)
        assert val.form == form, (name, val, form, self.where())
        return [self.cast(part, val.type, f"i{val.bits}", 1) for part in val.names]

    def _a_lane(self, segment: int, segments: int) -> str:
        """The first active lane of a segment; if none is active, any."""
        lanes = 32 // segments
        first = segment * lanes
        if self.mask is None:
            return str(first)
        within = ((1 << lanes) - 1) << first
        bits = self.ins(f"and i32 {self.mask_bits}, {within - (1 << 32) if within >> 31 else within}")
        lane = self.call("i32", "llvm.cttz.i32", [("i32", bits), ("i1", "false")])
        none = self.ins(f"icmp eq i32 {bits}, 0")
        return self.ins(f"select i1 {none}, i32 {first}, i32 {lane}")

    def store_slot(self, name: str, val: Val) -> None:
        """Write a register to the frame; in SLOW only the active lanes."""
        form, (scalar, vector) = self.slot_form(name), self.unit.slots[name]
        parts = self.in_slot_form(name, val)
        if form is not None:
            for i, part in enumerate(parts):
                pointer = self.frame(scalar + i * max(val.bits // 8, 1))
                if val.bits == 1:
                    part = self.ins(f"zext i1 {part} to i8")
                self.do(f"store i{max(val.bits, 8)} {part}, ptr {pointer}")
            return
        pointer = self.frame(vector)
        whole = parts[0]
        if val.bits == 1:
            new = self.ins(f"bitcast <32 x i1> {whole} to i32")
            if self.mask is not None:
                old = self.ins(f"load i32, ptr {pointer}, align 4")
                changed = self.ins(f"xor i32 {new}, {old}")
                changed = self.ins(f"and i32 {changed}, {self.mask_bits}")
                new = self.ins(f"xor i32 {old}, {changed}")
            self.do(f"store i32 {new}, ptr {pointer}, align 4")
        elif self.mask is None:
            self.do(f"store <32 x i{val.bits}> {whole}, ptr {pointer}, align 64")
        else:
            kind = f"<32 x i{val.bits}>"
            old = self.ins(f"load {kind}, ptr {pointer}, align 64")
            new = self.ins(f"select <32 x i1> {self.mask}, {kind} {whole}, {kind} {old}")
            self.do(f"store {kind} {new}, ptr {pointer}, align 64")

    # -- counting --------------------------------------------------------------------------------

    def count_execution(self, block: Block, times: str = "1") -> None:
        """FAST counts what the dispatcher counts for SLOW (runtime/totals.h), at the end: a block may be given up."""
        if block.exit_only:
            return
        pointer = self.ins(f"getelementptr inbounds i64, ptr %totals, i64 {block.index}")
        before = self.ins(f"load i64, ptr {pointer}")
        self.do(f"store i64 {self.ins(f'add i64 {before}, {times}')}, ptr {pointer}")

    def leave_rounds(self, rounds: Rounds) -> None:
        """A loop of one block ends, or is given up: what its registers counted goes where others look for it."""
        self.set_warp_field(abi.TICKS, "i64", rounds.left)
        self.count_execution(rounds.block, self.ins(f"sub i64 {rounds.given}, {rounds.left}"))

    def count_idle(self, block: Block, lanes: str) -> None:
        """The same for the lanes that took no part."""
        pointer = self.ins(f"getelementptr inbounds i64, ptr %idle, i64 {block.index}")
        some = self.call("i32", "llvm.ctpop.i32", [("i32", lanes)])
        none = self.ins(f"zext i32 {self.ins(f'sub i32 32, {some}')} to i64")
        total = self.ins(f"add i64 {self.ins(f'load i64, ptr {pointer}')}, {none}")
        self.do(f"store i64 {total}, ptr {pointer}")

    def give_up(self) -> None:
        """Leave FAST at the start of the current block, which has had no effect."""
        self.set_warp_field(abi.NEXT_BLOCK, "i32", str(self.block_index))
        self.do(f"ret i32 {abi.ONE}")

    def aside(self) -> AbstractContextManager[None]:
        """For code on a path that does not come back: what it computes is not known afterwards."""

        @contextmanager
        def keep() -> Iterator[None]:
            known = dict(self.casts), dict(self.splats)
            yield
            self.casts, self.splats = known

        return keep()

    # -- driving handlers ------------------------------------------------------------------------

    def alu(self, bits: int, type_: str, operands: list[tuple[Val, str]], fn: Callable[..., str]) -> Val:
        """Apply fn(n, *names) lane by lane: on scalars when few make all operands flat, else on vectors."""
        forms = [v.form for v, _ in operands if v.form is not None]
        segments = flat_segments(forms) if len(forms) == len(operands) else None
        if segments is not None and not self.unit.force_vectors:
            columns = [self.scalars(self.refine(v, segments), t, segments) for v, t in operands]
            names = [fn(1, *(c[i] for c in columns)) for i in range(segments)]
            return Val(bits, Form(segments), names, type_)
        return Val(bits, None, [fn(32, *(self.vector(v, t) for v, t in operands))], type_)

    def linear(self, val: Val) -> bool:
        """Do the lanes of a segment differ by known steps?"""
        return val.form is not None and not val.form.flat

    def spill(self, val: Val, type_: str = "") -> str:
        """A pointer to the 32 lanes in memory, for runtime functions."""
        kind = type_ or f"i{val.bits}"
        vec = self.vector(val, kind)
        size = FLOAT_BITS.get(kind) or int(kind[1:])
        pointer = self.alloca(32 * size // 8)
        self.do(f"store <32 x {kind}> {vec}, ptr {pointer}, align 64")
        return pointer

    def receive(self, targets: Sequence[Operand], kind: str, undefined: bool = False) -> str | None:
        """Room for loaded values, or their undefined bits, that are wanted in memory (translate.py); None if they are
        not."""
        return None

    def spill_all(self, vals: list[Val]) -> str:
        """Several 32-bit (or 64-bit) values one after the other, register-major."""
        size = vals[0].bits * 4
        pointer = self.alloca(size * len(vals))
        for i, val in enumerate(vals):
            at = self.ins(f"getelementptr inbounds i8, ptr {pointer}, i64 {i * size}")
            self.do(f"store <32 x i{val.bits}> {self.vector(val)}, ptr {at}, align 64")
        return pointer

    def reload(self, pointer: str, bits: int, index: int = 0) -> Val:
        """What a runtime function left in memory: the value at place `index`, of 32 lanes."""
        at = (
            self.ins(f"getelementptr inbounds i8, ptr {pointer}, i64 {index * bits * 4}")
            if index
            else pointer
        )
        return self.varying(self.ins(f"load <32 x i{bits}>, ptr {at}, align 64"), bits)

    def active_bits(self) -> str:
        """The active lanes as an i32."""
        return self.mask_bits

    def string(self, text: str) -> str:
        """A pointer to a constant C string."""
        data = text.encode()
        name = f"@str{self.unit.prefix}b{self.block_index}_{len(self.strings)}"
        escaped = "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02x}" for b in data)
        self.strings.append(f'{name} = private unnamed_addr constant [{len(data) + 1} x i8] c"{escaped}\\00"')
        return name

    def numbers(self, values: Sequence[int]) -> str:
        """A pointer to constants of 32 bits."""
        name = f"@numbers{self.unit.prefix}b{self.block_index}_{len(self.strings)}"
        items = ", ".join(f"i32 {value}" for value in values)
        self.strings.append(f"{name} = private unnamed_addr constant [{len(values)} x i32] [{items}]")
        return name

    def where(self) -> str:
        """The current instruction, for messages."""
        text = self.instr.text if self.instr else "?"
        return f"`{text}` in {self.unit.function.name}"

    def unsupported(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"{what} is not supported by the simulated GPU ({self.where()})")

    def special_form(self, name: str) -> Form | None:
        return special_form(name, self.unit.block_shape)
