"""Floating-point operations of PTX instructions, and the multiply-adds of matrix instructions."""

from __future__ import annotations

import re

from evoengineer.card.profile import Profile
from evoengineer.sim.ptx.model import Instr

_TWO = {"fma", "mad"}
_ONE = {"add", "sub", "mul", "div", "sqrt", "rsqrt", "rcp", "ex2", "lg2", "sin", "cos", "tanh", "min", "max"}
_WIDTH = {"f32": 1, "f64": 1, "f16": 1, "bf16": 1, "f16x2": 2, "bf16x2": 2}
HALF_SUMS = "f16 with f16 sums"
_MATRIX_TYPES = ("f16", "bf16", "tf32", "f64", "f32", "s32", "s8", "u8", "s4", "u4", "b1", "e4m3", "e5m2")
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")


def operations(instr: Instr) -> tuple[str, int]:
    """(type, floating-point operations per lane) of a scalar instruction; 0 for others."""
    kind = instr.mods[-1] if instr.mods else ""
    if kind not in _WIDTH or instr.op not in _TWO | _ONE:
        return "", 0
    return kind, _WIDTH[kind] * (2 if instr.op in _TWO else 1)


def multiply_adds(instr: Instr) -> tuple[str, int]:
    """(input type, multiply-adds per warp) of a matrix instruction; 0 for others."""
    if not (instr.op == "mma" or (instr.op == "wmma" and "mma" in instr.mods)):
        return "", 0
    shape = next((s for m in instr.mods if (s := _SHAPE.fullmatch(m))), None)
    if shape is None:
        return "", 0
    m, n, k = map(int, shape.groups())
    if (
        instr.op == "mma" and shape[0] == "m8n8k4" and "f16" in instr.mods
    ):  # of Volta: each pair of quads has its own
        m *= 4
    kinds = [mod for mod in instr.mods if mod in _MATRIX_TYPES]
    if len(kinds) == 2:  # wmma with f16 inputs names its accumulators only
        kinds = [kinds[0], "f16", "f16", kinds[1]]
    if len(kinds) != 4:
        return "f16", m * n * k
    result, inputs = kinds[0], kinds[1]
    return (HALF_SUMS if (result, inputs) == ("f16", "f16") else inputs), m * n * k


def tensor_rate(card: Profile, kind: str) -> int:
    """Multiply-adds per clock and multiprocessor for inputs of that type."""
    if kind == "tf32":
        rate = card.tensor_tf32_fma_per_clock
    elif kind == "f64":
        rate = card.tensor_fp64_fma_per_clock
    elif kind in ("s8", "u8", "s4", "u4", "b1"):
        rate = card.tensor_int8_fma_per_clock
    elif kind in ("e4m3", "e5m2"):
        rate = card.tensor_fp8_fma_per_clock
    elif kind == HALF_SUMS:  # GeForce cards halve the rate of fp16 only where sums are fp32
        rate = max(card.tensor_fp16_fma_per_clock, card.tensor_int8_fma_per_clock // 2)
    else:
        rate = card.tensor_fp16_fma_per_clock
    return rate or card.tensor_fp16_fma_per_clock or 64


def scalar_rate(card: Profile, kind: str) -> int:
    """Multiply-adds per clock and multiprocessor outside the tensor cores."""
    return {"f64": card.fp64_per_clock, "f32": card.fp32_per_clock}.get(kind, card.fp16_per_clock)
