"""What PTX may ask for, checked before anything is translated.

The text need not come from nvcc: a client can send any. A number of operands that an instruction does not
have, an offset outside a parameter, or sizes beyond those of a GPU would make the translated code touch
memory that is not the kernel's. Each is a PtxError that names the place.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evoengineer.errors import PtxError, UnsupportedError
from evoengineer.sim.ptx.body import VIDEO_OPS
from evoengineer.sim.ptx.model import Instr, Operand, Vec

if TYPE_CHECKING:
    from evoengineer.sim.codegen.unit import FunctionUnit

MOST_LOCAL_BYTES = 512 << 10  # per thread, as on every card
MOST_FRAME_BYTES = 8 << 20  # registers that live across blocks, of a warp
MOST_PARAMETER_BYTES = 32764
MOST_CALL_BYTES = 16 << 10  # parameters or results of a device function, per thread
MOST_STACK_BYTES = 2 << 20  # of one translated function; see kStackReserve in runtime/calls.cpp
MOST_INSTRUCTIONS = 1 << 18

# Operands that instructions have, fewest and most. Control flow is not here: the parser and calls.py know it.
_ONE_TO_THREE = ("ex2", "lg2", "sin", "cos", "tanh", "rcp", "sqrt", "rsqrt", "neg", "abs", "not", "cnot", "popc",
                 "clz", "brev", "bfind", "mov", "cvta", "isspacep", "testp", "ld", "ldu", "movmatrix")  # fmt: skip
_THREE = ("add", "sub", "addc", "subc", "mul", "mul24", "div", "rem", "min", "max", "copysign", "and", "or", "xor",
          "shl", "shr", "szext", "bmsk")  # fmt: skip
_FOUR = ("mad", "madc", "mad24", "fma", "sad", "shf", "prmt", "bfe", "fns", "dp4a", "dp2a", "selp", "slct")
_OPERANDS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(_ONE_TO_THREE, (2, 3)),
    **dict.fromkeys(_THREE, (3, 3)),
    **dict.fromkeys(_FOUR, (4, 4)),
    **dict.fromkeys(("membar", "fence", "griddepcontrol"), (0, 2)),
    **dict.fromkeys(
        ("prefetch", "prefetchu", "discard", "applypriority", "createpolicy", "pmevent"), (0, 5)
    ),
    **dict.fromkeys(VIDEO_OPS, (3, 4)),
    "st": (2, 3), "lop3": (5, 6), "bfi": (5, 5), "setp": (3, 4), "set": (3, 4), "cvt": (2, 4),
    "min": (3, 4), "max": (3, 4), "atom": (3, 5), "red": (2, 3), "cp": (0, 5), "mbarrier": (1, 4),
    "shfl": (4, 5), "vote": (2, 3), "match": (3, 3), "redux": (3, 3), "elect": (2, 2), "activemask": (1, 1),
    "nanosleep": (1, 1), "setmaxnreg": (1, 1), "bar": (0, 4), "barrier": (0, 4), "mma": (4, 4), "wmma": (2, 4),
    "ldmatrix": (2, 2), "stmatrix": (2, 2), "tex": (2, 4), "tld4": (2, 4), "suld": (2, 2), "sust": (2, 2),
    "txq": (2, 2), "suq": (2, 2),
}  # fmt: skip


def check_operands(instr: Instr) -> None:
    """As many operands as the instruction has."""
    fewest, most = _OPERANDS.get(instr.op, (0, 99))
    if instr.op == "cp" and not {"commit_group", "wait_group", "wait_all", "mbarrier"} & set(instr.mods):
        fewest = 2 if "prefetch" in instr.mods else 3
        if "bulk" in instr.mods and any(m.startswith("mbarrier") for m in instr.mods):
            fewest = 4
    if instr.op == "cp" and {"wait_group", "mbarrier"} & set(instr.mods):
        fewest = 1
    if instr.op == "mma" and any(m.partition("::")[0] == "sp" for m in instr.mods):
        most = 6  # the metadata and its selector: refused by name later
    if instr.op == "atom" and "cas" in instr.mods:
        fewest = 4
    if not fewest <= len(instr.args) <= most:
        raise PtxError(f"{len(instr.args)} operands are not those of `{instr.text}`")


def check_sizes(unit: FunctionUnit) -> None:
    """Nothing larger than on a card."""
    name = unit.function.name
    most_parameters = MOST_PARAMETER_BYTES + 4 if unit.function.entry else MOST_CALL_BYTES
    for what, size, most in (
        ("bytes of local memory", unit.local_bytes, MOST_LOCAL_BYTES),
        ("bytes of registers", unit.frame_bytes, MOST_FRAME_BYTES),
        ("bytes of parameters", unit.param_bytes, most_parameters),
        ("bytes of results", unit.result_bytes, MOST_CALL_BYTES),
        ("instructions", len(unit.body.instrs), MOST_INSTRUCTIONS),
    ):
        if size > most:
            raise UnsupportedError(f"{name}: {size} {what}, the most is {most}")


def inside(instr: Instr, offset: int, size: int, room: int, align: int) -> None:
    """A parameter is read or written within its bounds, and aligned."""
    if not 0 <= offset <= room - size or offset % align:
        raise PtxError(f"`{instr.text}` is outside the parameter, which has {room} bytes")


def check_count(instr: Instr, operand: Operand, count: int) -> None:
    """A vector of registers has as many as the instruction reads or writes."""
    found = len(operand.items) if isinstance(operand, Vec) else 1
    if found != count:
        raise PtxError(f"`{instr.text}`: {found} registers where there must be {count}")


# -- matrices ----------------------------------------------------------------------------------------

_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1,
         "s32": 32, "e4m3": 8, "e5m2": 8}  # fmt: skip
_MMA = {16: ("m8n8k4", "m16n8k8", "m16n8k16"), 32: ("m16n8k4", "m16n8k8"), 8: ("m8n8k16", "m16n8k16", "m16n8k32"),
        4: ("m8n8k32", "m16n8k32", "m16n8k64"), 1: ("m8n8k128", "m16n8k128", "m16n8k256"),
        64: ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16")}  # fmt: skip
_WMMA = {16: ("m16n16k16", "m32n8k16", "m8n32k16"), 8: ("m16n16k16", "m32n8k16", "m8n32k16"), 32: ("m16n16k8",),
         64: ("m8n8k4",), 4: ("m8n8k32",), 1: ("m8n8k128",)}  # fmt: skip


def matrix_shape(instr: Instr, kind: str, accumulator: bool = False) -> tuple[int, int, int]:
    """m, n and k, if the instruction has that shape for inputs of that type."""
    text = next((m for m in instr.mods if re.fullmatch(r"m\d+n\d+k\d+", m)), "")
    table = _MMA if instr.op == "mma" else _WMMA
    shapes = {shape for each in table.values() for shape in each} if accumulator else table[_BITS[kind]]
    if text not in shapes:
        raise UnsupportedError(f"`{instr.text}`: no shape {text or '?'} for {kind}")
    m, n, k = map(int, re.findall(r"\d+", text))
    return m, n, k


def fragment_registers(instr: Instr, which: str, kind: str, shape: tuple[int, int, int]) -> int:
    """How many registers of a thread hold its part of matrix a, b or c."""
    m, n, k = shape
    if instr.op == "wmma" and which in "ab" and kind == "f16":
        return 8
    if instr.op == "mma" and shape == (8, 8, 4) and kind in ("f16", "f32"):
        return 2 if which in "ab" else 4 if kind == "f16" else 8
    elements, bits = {"a": m * k, "b": k * n, "c": m * n}[which], _BITS[kind]
    return max(elements * bits // (32 * max(bits, 32)), 1)
