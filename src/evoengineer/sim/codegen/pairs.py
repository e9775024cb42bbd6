"""Two integers of 16 bits in a register, each by itself: what Hopper's SIMD intrinsics become."""

from __future__ import annotations

from evoengineer.sim.codegen.emitter import Emitter
from evoengineer.sim.codegen.moves import pack, unpack
from evoengineer.sim.ptx.model import Instr

PAIRS = ("s16x2", "u16x2")


def arithmetic(e: Emitter, instr: Instr) -> None:
    """add, min and max."""
    sign = instr.mods[-1][0]

    def fn(n: int, x: str, y: str) -> str:
        if instr.op == "add":
            return e.ins(f"add {e.t(n, 'i16')} {x}, {y}")
        result = e.intrinsic(sign + instr.op, n, "i16", x, y)
        return e.intrinsic("smax", n, "i16", result, e.k(n, "i16", 0)) if "relu" in instr.mods else result

    columns = [unpack(e, e.read(operand, 32), 2) for operand in instr.args[1:3]]
    halves = [e.alu(16, "i16", [(a, "i16"), (b, "i16")], fn) for a, b in zip(*columns, strict=True)]
    e.write(instr.args[0], pack(e, halves, 32))
