"""The form of a value across the 32 lanes of a warp, and how instructions transform it.

A form is `Form(segments, stride)`: lane i holds base[i // L] + stride * (i % L) with L = 32 / segments and
one scalar base per segment. Form(1, 0) is uniform, Form(1, 4) linear (consecutive floats' addresses),
Form(2, 0) is the row index in a 16-wide block. None stands for a varying value, held as a vector.

The forms are found per register, over all its definitions, by iteration to a fixed point. Because the
FAST code runs only while all lanes are together, a value that is uniform at each definition is uniform
everywhere: no divergence analysis is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evoengineer.sim.ptx.body import VIDEO_OPS
from evoengineer.sim.ptx.flow import destinations
from evoengineer.sim.ptx.model import Addr, Body, Imm, Instr, Not, Operand, Pair, Reg, Sym, Vec


@dataclass(frozen=True, slots=True)
class Form:
    """`segments` scalar bases, `stride` from lane to lane within a segment."""

    segments: int
    stride: int


UNIFORM = Form(1, 0)
# Larger strides are rarely addresses and often hashes, which wrap around all the time.
MAX_STRIDE = 1 << 20

_INT = frozenset({"s16", "u16", "s32", "u32", "s64", "u64", "b16", "b32", "b64"})
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
    return a if a.segments >= b.segments else b


def special_form(name: str, block: tuple[int, int, int]) -> Form | None:
    """The form of a special register in blocks of this shape."""
    x, y, _ = block
    base = name.split(".", maxsplit=1)[0]
    if base == "%laneid":
        return Form(1, 1)
    if base != "%tid":
        return None if base.startswith("%lanemask") else UNIFORM
    axis = name[-1]
    if x % 32 == 0:
        return Form(1, 1) if axis == "x" else UNIFORM
    if x in (4, 8, 16):
        rows = 32 // x
        if axis == "x":
            return Form(rows, 1)
        if y % rows == 0:
            return Form(rows, 0) if axis == "y" else UNIFORM
        return None
    if x == 1 and y % 32 == 0:
        return UNIFORM if axis in "xz" else Form(1, 1)
    return None


def infer_forms(body: Body, block: tuple[int, int, int], local_bytes: int) -> dict[str, Form | None]:
    """The form of each register. Registers that are never written are uniform (their value is arbitrary)."""
    written = {name for instr in body.instrs for name in destinations(instr)}
    forms: dict[str, Form | None] = {name: UNIFORM for name in body.registers if name not in written}

    def form_of(operand: Operand) -> Form | type[Unknown] | None:
        if isinstance(operand, Reg):
            if operand.name in body.registers:
                return forms.get(operand.name, Unknown)
            return special_form(operand.name, block)
        if isinstance(operand, Not):
            return forms.get(operand.reg.name, Unknown)
        if isinstance(operand, Sym):
            local = any(v.name == operand.name and v.space == "local" for v in body.variables)
            return Form(1, local_bytes) if local else UNIFORM
        return UNIFORM

    changed = True
    while changed:
        changed = False
        for instr in body.instrs:
            for name in destinations(instr):
                form = transfer(instr, form_of)
                if form is Unknown:
                    continue
                if instr.guard is not None:
                    guard = forms.get(instr.guard.name, Unknown)
                    if guard is Unknown:
                        continue
                    if guard is None or (guard.stride, guard.segments) != (0, 1):  # type: ignore[union-attr]
                        form = None
                old = forms.get(name, Unknown)
                new = form if old is Unknown else join(old, form)  # type: ignore[arg-type]
                if new != old:
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
        return Form(form.segments, 0) if form.stride == 0 else None  # type: ignore[attr-defined]
    forms = [form_of(a) for a in _leaves(instr.args[1:])]
    if Unknown in forms:
        return Unknown
    if None in forms:
        return None
    segments = max((f.segments for f in forms), default=1)  # type: ignore[attr-defined]
    strides = [f.stride for f in forms]  # type: ignore[attr-defined]
    if not any(strides):
        return Form(segments, 0)
    stride = _linear(instr, strides)
    return None if stride is None or abs(stride) > MAX_STRIDE else Form(segments, stride)


def _flat(instr: Instr, form_of: Callable[[Operand], object]) -> object:
    form = form_of(instr.args[1])
    if form is Unknown or form is None:
        return form
    return form if form.stride == 0 else None  # type: ignore[attr-defined]


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
    if op == "cvt" and len(mods) == 2 and set(mods) <= _INT:
        return strides[0]
    if kind not in _INT:
        return None
    if op == "add" and len(mods) == 1:
        return strides[0] + strides[1]
    if op == "sub" and len(mods) == 1:
        return strides[0] - strides[1]
    if op == "shl" and isinstance(instr.args[2], Imm):
        return strides[0] << min(instr.args[2].value, 63)
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
    return to in _INT and source in _INT and int(to[1:]) > int(source[1:])
