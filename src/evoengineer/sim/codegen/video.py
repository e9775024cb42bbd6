"""The video instructions (vadd … vmad, vadd2 … vset4): one runtime function with a description.

The description's layout is at the top of `runtime/ops_video.cpp`. The parser drops the operands' selectors
(`%r1.b2`, `%r1.h10`) and signs, so that operands are plain registers; they are read from the text here.
"""

from __future__ import annotations

import re

from evoengineer.sim.codegen.emitter import Emitter
from evoengineer.sim.ptx.body import VIDEO_OPS
from evoengineer.sim.ptx.model import Instr

_OPERATIONS = ("add", "sub", "absdiff", "min", "max", "set", "avrg", "shl", "shr", "mad")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_SCALAR_PARTS = ("", "b0", "b1", "b2", "b3", "h0", "h1")
_DEFAULTS = {2: ("h10", "h10", "h32"), 4: ("b3210", "b3210", "b7654")}  # of d, a and b


def video(e: Emitter, instr: Instr) -> None:
    """Any of them: by the runtime."""
    assert instr.op in VIDEO_OPS
    a, b = (e.read(operand, 32) for operand in instr.args[1:3])
    c = e.read(instr.args[3], 32) if len(instr.args) > 3 else e.constant(0, 32)
    out = e.alloca(128)
    pointers = [("ptr", out), *(("ptr", e.spill(x)) for x in (a, b, c))]
    value = description(instr)
    e.call("void", "rt_video", [*pointers, ("i64", str(value - (1 << 64) if value >> 63 else value))])
    e.write(instr.args[0], e.reload(out, 32))


def description(instr: Instr) -> int:
    """The `desc` argument of rt_video."""
    match = re.fullmatch(r"v([a-z]+)([24]?)", instr.op)
    assert match is not None
    operation, count = match.group(1), int(match.group(2) or 1)
    mods = list(instr.mods)
    kinds = [m for m in mods if m in ("u32", "s32")]
    if operation == "set":  # no type of d: it is unsigned
        kinds.insert(0, "u32")
    elif len(kinds) < 3:  # vshl, vshr: b is .u32, which may be left out
        kinds.append("u32")
    d_signed, a_signed, b_signed = (kind == "s32" for kind in kinds[:3])
    value = _OPERATIONS.index(operation) | (count // 2) << 4
    value |= a_signed << 6 | b_signed << 7 | d_signed << 8 | ("sat" in mods) << 9
    second = next((i for i, m in enumerate(("add", "min", "max"), 1) if m in mods), 0)
    comparison = next((i for i, m in enumerate(_COMPARISONS) if m in mods), 0)
    scale = 1 if "shr7" in mods else 2 if "shr15" in mods else 0
    value |= second << 10 | comparison << 12 | ("wrap" in mods) << 15 | scale << 16 | ("po" in mods) << 18
    selectors, signs = _operand_details(instr)
    for i, negative in enumerate(signs[1:4]):
        value |= negative << 19 + i
    if count == 1:
        to, from_a, from_b = (_SCALAR_PARTS.index(s) for s in selectors[:3])
        return value | from_a << 24 | from_b << 40 | to << 56
    chosen = [given or default for given, default in zip(selectors, _DEFAULTS[count], strict=False)]
    mask = sum(1 << int(digit) for digit in chosen[0][1:])
    return value | _places(chosen[1]) << 24 | _places(chosen[2]) << 40 | mask << 56


def _operand_details(instr: Instr) -> tuple[list[str], list[bool]]:
    """The selector of each operand ("" if it has none), and whether it is negated."""
    text = re.sub(r"^@\s*!?\s*\S+\s+", "", instr.text)
    operands = [operand.strip() for operand in text.split(None, 1)[1].rstrip(";").split(",")]
    found = [re.search(r"\.([bh]\d+)$", operand) for operand in operands]
    return [m.group(1) if m else "" for m in found], [o.startswith("-") for o in operands]


def _places(selector: str) -> int:
    """`h32`, `b7654`: written highest element first; as nibbles, lowest element first."""
    return sum(int(digit) << 4 * i for i, digit in enumerate(reversed(selector[1:])))
