"""The form of a value across the 32 lanes of a warp, and how instructions transform it.

A form is `Form(segments, steps)`: lane i holds base[i // L] + steps[i] with L = 32 / segments, one scalar base per
segment and steps that are known when the kernel is translated (steps.py). `Form(1)` is uniform, `linear_form(1, 4)` the
addresses of consecutive floats, a thread's column in a 16-wide block one base and the steps 0 … 15, 0 … 15. A row's
index times a width that only the launch knows is `Form(2)`, one scalar for each half of the warp. None stands for a
varying value, held as a vector.

The forms are found per register, over all its definitions, by iteration to a fixed point. Because the
FAST code runs only while all lanes are together, a value that is uniform at each definition is uniform
everywhere: no divergence analysis is needed.

A form also knows what its bases are multiples of, and how large the value gets (knowledge.py): where the steps change
only bits that no base has, `tid / 16` and `tid % 16` are again a base and steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from evoengineer.sim.codegen.steps import (
    FLAT,
    Steps,
    firsts,
    linear,
    minus,
    plus,
    refined,
    segments_if_flat,
    stride_of,
    times,
)
from evoengineer.sim.ptx.body import VIDEO_OPS
from evoengineer.sim.ptx.flow import destinations
from evoengineer.sim.ptx.model import Addr, Body, Imm, Instr, Not, Operand, Pair, Reg, Sym, Vec

MOST_ALIGNED = 1 << 16  # zero is a multiple of anything
MOST_SEGMENTS = 8  # more scalars than that are no better than a vector
MOST_LOADED = 2  # scalars that a load is worth: its value mostly meets vectors
UNBOUNDED = 1 << 64


@dataclass(frozen=True, slots=True)
class Form:
    """`segments` scalar bases, and what each lane adds to its own."""

    segments: int
    steps: Steps = FLAT
    align: int = field(default=1, compare=False)  # a power of two of which every base is a multiple
    most: int = field(default=UNBOUNDED, compare=False)  # in every lane, read as a number without a sign
    # Does it rest on the bits of a thread's index? Where such a value might wrap (`carries`) it is no longer kept so:
    # blocks are not cut for it.
    cut: bool = field(default=False, compare=False)

    @property
    def lanes(self) -> int:
        """Of a segment."""
        return 32 // self.segments

    @property
    def flat(self) -> bool:
        """Do the lanes of a segment hold the same?"""
        return self.steps == FLAT

    @property
    def uniform(self) -> bool:
        """Do all lanes?"""
        return self.segments == 1 and self.flat

    @property
    def stride(self) -> int | None:
        """The distance from lane to lane within a segment; 0 if flat, None if there is not one for all."""
        return stride_of(self.segments, self.steps)

    @property
    def carries(self) -> bool:
        """May adding the lanes' part to a base change more than the bits below the alignment, or wrap?"""
        return min(self.steps) < 0 or max(self.steps) >= self.align

    def knows(self) -> tuple[int, int, bool]:
        """What equality leaves out."""
        return self.align, self.most, self.cut

    def refined(self, segments: int) -> Form:
        """The same value written with more segments."""
        if segments == self.segments:
            return self
        align = min((self.align, *map(low_bit, firsts(self.steps, segments))))
        return replace(self, segments=segments, steps=refined(self.steps, segments), align=align)


def linear_form(segments: int, stride: int) -> Form:
    """The same distance from lane to lane."""
    return Form(segments, linear(segments, stride))


def flat_segments(forms: Iterable[Form], most: int = MOST_SEGMENTS) -> int | None:
    """How many segments make all of these flat; None if that takes too many."""
    count = max((max(form.segments, segments_if_flat(form.steps)) for form in forms), default=1)
    return count if count <= most else None


def low_bit(value: int) -> int:
    """The largest power of two that divides a number."""
    return min(value & -value, MOST_ALIGNED) if value else MOST_ALIGNED


UNIFORM = Form(1)
# Larger steps are rarely addresses and often hashes, which wrap around all the time.
MAX_STEP = 31 << 20

INTEGERS = frozenset({"s16", "u16", "s32", "u32", "s64", "u64", "b16", "b32", "b64"})
# Instructions whose result is a vector whatever their operands are: they are done by the runtime.
_ALWAYS_VARYING = frozenset({"atom", "shfl", "match", "tex", "tld4", "suld", "mma", "wmma", "ldmatrix", "movmatrix",
                             "sin", "cos", "lg2", "tanh", "ex2", "mbarrier", "call",
                             # these read the carry flag, which is no operand
                             "addc", "subc", "madc"}) | VIDEO_OPS  # fmt: skip

_DIRECTED = frozenset({"rz", "rm", "rp"})


def join(a: Form | None, b: Form | None) -> Form | None:
    """The form of a register with two definitions; None if they do not agree."""
    if a is None or b is None:
        return None
    segments: int | None = max(a.segments, b.segments)
    if refined(a.steps, segments) != refined(b.steps, segments):
        segments = flat_segments((a, b))
    if segments is None:
        return None
    x, y = a.refined(segments), b.refined(segments)
    most = a.most if b.most <= a.most else UNBOUNDED  # `b` is the newer one: what grows may do so for ever
    return Form(segments, x.steps, min(x.align, y.align), most, a.cut or b.cut)


def special_form(name: str, block: tuple[int, int, int]) -> Form | None:
    """The form of a special register in blocks of this shape."""
    x, y, _ = block
    base = name.split(".", maxsplit=1)[0]
    if base == "%laneid":
        return Form(1, linear(1, 1), MOST_ALIGNED, 31)
    axis = name[-1]
    extent = block["xyz".index(axis)] if axis in "xyz" else 1
    if base == "%ntid":
        return constant_form(extent)
    if base != "%tid":
        return None if base.startswith("%lanemask") else UNIFORM
    most = extent - 1
    flat = Form(1, FLAT, 1, most)
    if x % 32 == 0:
        return Form(1, linear(1, 1), 32, most) if axis == "x" else flat
    if x in (4, 8, 16):
        rows = 32 // x
        if axis == "x":
            return Form(1, tuple(lane % x for lane in range(32)), MOST_ALIGNED, most)
        if y % rows == 0:
            return Form(rows, FLAT, 1, most) if axis == "y" else flat
        return None
    if x == 1 and y % 32 == 0:
        return flat if axis in "xz" else Form(1, linear(1, 1), 32, most)
    return None


def constant_form(value: int) -> Form:
    """Of a number; a negative one has no bound, as its width is not known here."""
    return Form(1, FLAT, low_bit(value), value if value >= 0 else UNBOUNDED)


def infer_forms(
    body: Body, block: tuple[int, int, int], local_bytes: int, varying: frozenset[str] = frozenset()
) -> dict[str, Form | None]:
    """The form of each register; of those in `varying`, none. Registers that are never written are uniform (their
    value is arbitrary)."""
    from evoengineer.sim.codegen.knowledge import informed

    written = {name for instr in body.instrs for name in destinations(instr)}
    forms: dict[str, Form | None] = {name: UNIFORM for name in body.registers if name not in written}
    forms.update(dict.fromkeys(varying))

    def form_of(operand: Operand) -> Form | type[Unknown] | None:
        if isinstance(operand, Reg):
            if operand.name in body.registers:
                return forms.get(operand.name, Unknown)
            return special_form(operand.name, block)
        if isinstance(operand, Not):
            return forms.get(operand.reg.name, Unknown)
        if isinstance(operand, Sym):
            return linear_form(1, local_bytes) if operand.name in local_names else UNIFORM
        if isinstance(operand, Imm):
            return constant_form(operand.value)
        return UNIFORM

    local_names = {v.name for v in body.variables if v.space == "local"}
    pending = [(instr, names) for instr in body.instrs if (names := destinations(instr))]
    changed = True
    while changed:
        changed = False
        for instr, names in pending:
            if all(forms.get(name, Unknown) is None for name in names):
                continue  # it can't become any less regular
            form = transfer(instr, form_of)
            if form is Unknown:
                continue
            if instr.guard is not None:
                guard = forms.get(instr.guard.name, Unknown)
                if guard is Unknown:
                    continue
                if guard is None or not guard.uniform:  # type: ignore[union-attr]
                    form = None
                elif isinstance(form, Form) and guard.cut:  # type: ignore[union-attr]
                    form = replace(form, cut=True)
            if isinstance(form, Form):
                form = informed(instr, form, form_of)
            for name in names:
                old = forms.get(name, Unknown)
                new = form if old is Unknown else join(old, form)  # type: ignore[arg-type]
                if new != old or (new and new.knows() != old.knows()):  # type: ignore[union-attr]
                    forms[name] = new  # type: ignore[assignment]
                    changed = True
        if not changed:
            # Registers defined only through one another start with an arbitrary value: uniform, until
            # their definitions say otherwise.
            circular = written - forms.keys()
            forms.update(dict.fromkeys(circular, UNIFORM))
            changed = bool(circular)
    return forms


class Unknown:
    """No definition seen yet: the optimistic start of the iteration."""


def transfer(instr: Instr, form_of: Callable[[Operand], object]) -> object:
    """The form of an instruction's result: a Form, None (varying) or Unknown."""
    op = instr.op
    if op in _ALWAYS_VARYING or _DIRECTED & set(instr.mods):
        return None
    if op in ("vote", "redux", "activemask", "elect", "clock"):
        return UNIFORM
    if op in ("bar", "barrier"):
        return UNIFORM
    if op == "isspacep":
        return None if "const" in instr.mods else _flattened([form_of(instr.args[1])])
    if op in ("ld", "ldu"):
        address = instr.args[1]
        assert isinstance(address, Addr)
        if "param" in instr.mods and not isinstance(address.base, Reg):
            return UNIFORM
        form = form_of(address.base) if address.base is not None else UNIFORM
        return _flattened([form], MOST_LOADED)
    operands = [form_of(a) for a in _leaves(instr.args[1:])]
    forms = [each for each in operands if isinstance(each, Form)]
    if len(forms) < len(operands) or all(form.flat for form in forms):
        return _flattened(operands)
    bits = bits_of_steps(instr, forms[0])
    if bits is not None:
        return bits
    segments = max(form.segments for form in forms)
    steps = _sums(instr, [refined(form.steps, segments) for form in forms])
    if steps is None or max(map(abs, steps)) > MAX_STEP:
        return _flattened(forms)
    if widens(instr) and any(form.cut and form.carries for form in forms[:2]):
        return _flattened(forms)
    return Form(segments, steps, cut=any(form.cut for form in forms))


def _flattened(operands: Sequence[object], most: int = MOST_SEGMENTS) -> object:
    """Of what is computed lane by lane: a scalar for each segment, if there are few; else a vector."""
    if Unknown in operands:
        return Unknown
    forms = [each for each in operands if isinstance(each, Form)]
    segments = flat_segments(forms, most) if len(forms) == len(operands) else None
    return None if segments is None else Form(segments, cut=any(form.cut for form in forms))


def bits_of_steps(instr: Instr, form: Form) -> Form | None:
    """What and, or, xor and a shift to the right by a constant make of a value whose steps change only bits that no
    base has: they do the same to both."""
    amount = instr.args[-1]
    if instr.op not in ("and", "or", "xor", "shr") or not isinstance(amount, Imm) or form.flat:
        return None
    if instr.mods[-1] not in INTEGERS:
        return None
    bits = int(instr.mods[-1][1:])
    segments = form.segments
    while segments <= MOST_SEGMENTS:
        part = form.refined(segments)
        if not part.carries:
            constant = min(amount.value & 0xFFFFFFFF, bits - 1) if instr.op == "shr" else amount.value
            return Form(segments, _bits(instr.op, part, constant), cut=True)
        segments *= 2
    return None


def _bits(op: str, form: Form, constant: int) -> Steps:
    if op == "shr":
        return tuple(step >> constant for step in form.steps)
    constant &= form.align - 1  # the rest is the bases'
    if op == "and":
        return tuple(step & constant for step in form.steps)
    if op == "or":  # the bases have these bits now
        return tuple(step & ~constant for step in form.steps)
    return tuple((step ^ constant) - constant for step in form.steps)


def _leaves(args: tuple[Operand, ...]) -> list[Operand]:
    found: list[Operand] = []
    for arg in args:
        if isinstance(arg, Vec):
            found += _leaves(arg.items)
        elif isinstance(arg, Pair):
            found += _leaves((arg.first, arg.second))
        elif isinstance(arg, Addr):
            found += [arg.base] if arg.base is not None else []
        else:
            found.append(arg)
    return found


def _sums(instr: Instr, steps: list[Steps]) -> Steps | None:
    """The steps of a result whose operands have these, None if it has none."""
    op, mods = instr.op, instr.mods
    kind = mods[-1] if mods else ""
    if op == "mov" and not any(isinstance(a, Vec) for a in instr.args):
        return steps[0]
    if op == "cvta":
        return steps[0]
    if op == "cvt" and len(mods) == 2 and set(mods) <= INTEGERS:
        return steps[0]
    if kind not in INTEGERS:
        return None
    if op == "add" and len(mods) == 1:
        return plus(steps[0], steps[1])
    if op == "sub" and len(mods) == 1:
        return minus(steps[0], steps[1])
    if op == "shl" and isinstance(instr.args[2], Imm):
        count = instr.args[2].value & 0xFFFFFFFF
        return times(steps[0], 1 << count) if count < int(kind[1:]) else FLAT
    if op in ("mul", "mad") and ("lo" in mods or "wide" in mods) and "cc" not in mods and "hi" not in mods:
        product = _product(instr, steps)
        return plus(product, steps[2]) if product is not None and op == "mad" else product
    if op == "selp":
        return steps[0] if steps[0] == steps[1] and steps[2] == FLAT else None
    return None


def _product(instr: Instr, steps: list[Steps]) -> Steps | None:
    a, b = instr.args[1], instr.args[2]
    if steps[0] == steps[1] == FLAT:
        return FLAT
    if isinstance(b, Imm) and not b.float_bits:
        return times(steps[0], b.value)
    if isinstance(a, Imm) and not a.float_bits:
        return times(steps[1], a.value)
    return None


def widens(instr: Instr) -> bool:
    """Does the instruction widen an integer, so that a linear operand may wrap before it?"""
    if instr.op in ("mul", "mad"):
        return "wide" in instr.mods
    if instr.op != "cvt" or len(instr.mods) != 2:
        return False
    to, source = instr.mods
    return to in INTEGERS and source in INTEGERS and int(to[1:]) > int(source[1:])
