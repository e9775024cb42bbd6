"""The form of a value across the 32 lanes of a warp, and how instructions transform it.

A form is `Form(segments, stride)`: lane i holds base[i // L] + stride * (i % L) with L = 32 / segments and
one scalar base per segment. Form(1, 0) is uniform, Form(1, 4) linear (consecutive floats' addresses),
Form(2, 0) is the row index in a 16-wide block. None stands for a varying value, held as a vector.

The forms are found per register, over all its definitions, by iteration to a fixed point. Because the
FAST code runs only while all lanes are together, a value that is uniform at each definition is uniform
everywhere: no divergence analysis is needed.

A form also knows what its bases are multiples of, and how large the value gets (knowledge.py): thread indices start
at a multiple of 32 in each warp, so `tid / 16` and `tid % 16` are no arbitrary values but have forms with more
segments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from evoengineer.sim.ptx.body import VIDEO_OPS
from evoengineer.sim.ptx.flow import destinations
from evoengineer.sim.ptx.model import Addr, Body, Imm, Instr, Not, Operand, Pair, Reg, Sym, Vec

MOST_ALIGNED = 1 << 16  # zero is a multiple of anything
MOST_SEGMENTS = 8  # more scalars than that are no better than a vector
UNBOUNDED = 1 << 64


@dataclass(frozen=True, slots=True)
class Form:
    """`segments` scalar bases, `stride` from lane to lane within a segment."""

    segments: int
    stride: int
    align: int = field(default=1, compare=False)  # a power of two of which every base is a multiple
    most: int = field(default=UNBOUNDED, compare=False)  # in every lane, read as a number without a sign
    # Does it rest on the bits of a linear value? Where such a value might wrap (`carries`) it is made a vector: blocks
    # are not cut for it.
    cut: bool = field(default=False, compare=False)

    @property
    def lanes(self) -> int:
        """Of a segment."""
        return 32 // self.segments

    @property
    def carries(self) -> bool:
        """May adding the lanes' part to a base change more than the bits below the alignment, or wrap?"""
        return self.stride < 0 or self.stride * self.lanes > self.align

    def knows(self) -> tuple[int, int, bool]:
        """What equality leaves out."""
        return self.align, self.most, self.cut

    def refined(self, segments: int) -> Form:
        """The same value written with more segments."""
        if segments == self.segments:
            return self
        align = min(self.align, low_bit(self.stride * (32 // segments)))
        return replace(self, segments=segments, align=align)


def low_bit(value: int) -> int:
    """The largest power of two that divides a number."""
    return min(value & -value, MOST_ALIGNED) if value else MOST_ALIGNED


UNIFORM = Form(1, 0)
# Larger strides are rarely addresses and often hashes, which wrap around all the time.
MAX_STRIDE = 1 << 20

INTEGERS = frozenset({"s16", "u16", "s32", "u32", "s64", "u64", "b16", "b32", "b64"})
# Instructions whose result is a vector whatever their operands are: they are done by the runtime.
_ALWAYS_VARYING = frozenset({"atom", "shfl", "match", "tex", "tld4", "suld", "mma", "wmma", "ldmatrix", "movmatrix",
                             "sin", "cos", "lg2", "tanh", "ex2", "mbarrier", "call",
                             # these read the carry flag, which is no operand
                             "addc", "subc", "madc"}) | VIDEO_OPS  # fmt: skip

_DIRECTED = frozenset({"rz", "rm", "rp"})


def join(a: Form | None, b: Form | None) -> Form | None:
    """The form of a register with two definitions; None if they do not agree."""
    if a is None or b is None or a.stride != b.stride:
        return None
    segments = max(a.segments, b.segments)
    align = min(a.refined(segments).align, b.refined(segments).align)
    most = a.most if b.most <= a.most else UNBOUNDED  # `b` is the newer one: what grows may do so for ever
    return Form(segments, a.stride, align, most, a.cut or b.cut)


def special_form(name: str, block: tuple[int, int, int]) -> Form | None:
    """The form of a special register in blocks of this shape."""
    x, y, _ = block
    base = name.split(".", maxsplit=1)[0]
    if base == "%laneid":
        return Form(1, 1, MOST_ALIGNED, 31)
    axis = name[-1]
    extent = block["xyz".index(axis)] if axis in "xyz" else 1
    if base == "%ntid":
        return constant_form(extent)
    if base != "%tid":
        return None if base.startswith("%lanemask") else UNIFORM
    most = extent - 1
    flat = Form(1, 0, 1, most)
    if x % 32 == 0:
        return Form(1, 1, 32, most) if axis == "x" else flat
    if x in (4, 8, 16):
        rows = 32 // x
        if axis == "x":
            return Form(rows, 1, MOST_ALIGNED, most)
        if y % rows == 0:
            return Form(rows, 0, 1, most) if axis == "y" else flat
        return None
    if x == 1 and y % 32 == 0:
        return flat if axis in "xz" else Form(1, 1, 32, most)
    return None


def constant_form(value: int) -> Form:
    """Of a number; a negative one has no bound, as its width is not known here."""
    return Form(1, 0, low_bit(value), value if value >= 0 else UNBOUNDED)


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
            return Form(1, local_bytes) if operand.name in local_names else UNIFORM
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
                if guard is None or (guard.stride, guard.segments) != (0, 1):  # type: ignore[union-attr]
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
        return None if "const" in instr.mods else _flat(instr, form_of)
    if op in ("ld", "ldu"):
        address = instr.args[1]
        assert isinstance(address, Addr)
        if "param" in instr.mods and not isinstance(address.base, Reg):
            return UNIFORM
        form = form_of(address.base) if address.base is not None else UNIFORM
        if form is Unknown or form is None:
            return form
        return Form(form.segments, 0, cut=form.cut) if form.stride == 0 else None  # type: ignore[attr-defined]
    forms = [form_of(a) for a in _leaves(instr.args[1:])]
    if Unknown in forms:
        return Unknown
    if None in forms:
        return None
    segments = max((f.segments for f in forms), default=1)  # type: ignore[attr-defined]
    strides = [f.stride for f in forms]  # type: ignore[attr-defined]
    cut = any(f.cut for f in forms)  # type: ignore[attr-defined]
    if not any(strides):
        return Form(segments, 0, cut=cut)
    part = bits_of_linear(instr, forms[0])  # type: ignore[arg-type]
    if part is not None:
        return part
    stride = _linear(instr, strides)
    if stride is None or abs(stride) > MAX_STRIDE:
        return None
    if widens(instr) and any(f.cut and f.stride and f.carries for f in forms[:2]):  # type: ignore[attr-defined]
        return None
    return Form(segments, stride, cut=cut)


def bits_of_linear(instr: Instr, form: Form) -> Form | None:
    """What and, or, xor and a shift to the right by a constant make of a linear value: with segments so short that the
    lanes' part changes only bits which the bases do not have, it stays linear or becomes flat."""
    amount = instr.args[-1]
    if instr.op not in ("and", "or", "xor", "shr") or not isinstance(amount, Imm) or form.stride <= 0:
        return None
    step, lanes = form.stride, form.lanes
    if step & (step - 1) or instr.mods[-1] not in INTEGERS:
        return None
    bits = int(instr.mods[-1][1:])
    value = amount.value & (0xFFFFFFFF if instr.op == "shr" else (1 << bits) - 1)
    while lanes * MOST_SEGMENTS >= 32:
        spread = step * (lanes - 1)  # the bits in which lanes differ
        stride = _stride_of_bits(instr.op, step, spread, value) if step * lanes <= form.align else None
        if stride is not None:
            return Form(32 // lanes, stride, cut=True)
        lanes //= 2
    return None


def _stride_of_bits(op: str, step: int, spread: int, value: int) -> int | None:
    """Of lanes that differ in the bits of `spread`, after the operation; None if they are no longer linear."""
    if op == "shr":
        if value >= spread.bit_length():
            return 0
        return step >> value if step >= 1 << value else None
    hit = spread & value
    if op == "and":
        return step if hit == spread else 0 if not hit else None
    return step if not hit else None


def _flat(instr: Instr, form_of: Callable[[Operand], object]) -> object:
    form = form_of(instr.args[1])
    if form is Unknown or form is None:
        return form
    return Form(form.segments, 0, cut=form.cut) if form.stride == 0 else None  # type: ignore[attr-defined]


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


def _linear(instr: Instr, strides: list[int]) -> int | None:
    """The stride of a result whose operands are linear, None if it is not linear."""
    op, mods = instr.op, instr.mods
    kind = mods[-1] if mods else ""
    if op == "mov" and not any(isinstance(a, Vec) for a in instr.args):
        return strides[0]
    if op == "cvta":
        return strides[0]
    if op == "cvt" and len(mods) == 2 and set(mods) <= INTEGERS:
        return strides[0]
    if kind not in INTEGERS:
        return None
    if op == "add" and len(mods) == 1:
        return strides[0] + strides[1]
    if op == "sub" and len(mods) == 1:
        return strides[0] - strides[1]
    if op == "shl" and isinstance(instr.args[2], Imm):
        count = instr.args[2].value & 0xFFFFFFFF
        return strides[0] << count if count < int(kind[1:]) else 0
    if op in ("mul", "mad") and ("lo" in mods or "wide" in mods) and "cc" not in mods and "hi" not in mods:
        product = _product(instr, strides)
        if product is None:
            return None
        return product + (strides[2] if op == "mad" else 0)
    if op == "selp":
        return strides[0] if strides[0] == strides[1] and strides[2] == 0 else None
    return None


def _product(instr: Instr, strides: list[int]) -> int | None:
    a, b = instr.args[1], instr.args[2]
    if strides[0] == 0 and strides[1] == 0:
        return 0
    if isinstance(b, Imm) and not b.float_bits:
        return strides[0] * b.value
    if isinstance(a, Imm) and not a.float_bits:
        return strides[1] * a.value
    return None


def widens(instr: Instr) -> bool:
    """Does the instruction widen an integer, so that a linear operand may wrap before it?"""
    if instr.op in ("mul", "mad"):
        return "wide" in instr.mods
    if instr.op != "cvt" or len(instr.mods) != 2:
        return False
    to, source = instr.mods
    return to in INTEGERS and source in INTEGERS and int(to[1:]) > int(source[1:])
