"""What is known of a value besides its form, instruction by instruction: what its bases are multiples of, its largest.

A signed division by a power of two asks for the sign first, `(x + (x >> 31 >>> 28)) >> 4`: only that the sign is known
to be 0 makes the rest regular.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from evoengineer.sim.codegen.forms import INTEGERS, MOST_ALIGNED, UNBOUNDED, Form, low_bit
from evoengineer.sim.ptx.model import Imm, Instr, Operand, Vec


def informed(instr: Instr, result: Form, form_of: Callable[[Operand], object]) -> Form:
    """The result's form with what is known of it."""
    types = instr.mods if instr.op == "cvt" else instr.mods[-1:]
    if not types or not INTEGERS.issuperset(types) or "cc" in instr.mods:
        return result
    if any(isinstance(arg, Vec) for arg in instr.args):  # the parts of a value need not be what it is
        return result
    operands = [form_of(arg) for arg in instr.args[1:]]
    forms = [each for each in operands if isinstance(each, Form)]
    if not forms or len(forms) != len(operands):
        return result
    most = _most(instr, [form.most for form in forms])
    if most >= 1 << (min(int(each[1:]) for each in types) - 1):  # it might be negative, or wrap
        most = UNBOUNDED
    align = MOST_ALIGNED if most == 0 else max(1, min(_align(instr, result, forms), MOST_ALIGNED))
    return replace(result, align=align, most=most)


def _constant(instr: Instr) -> int | None:
    last = instr.args[-1]
    return last.value if isinstance(last, Imm) else None


def _low_product(instr: Instr) -> bool:
    return instr.op in ("mul", "mad") and ("lo" in instr.mods or "wide" in instr.mods)


def _align(instr: Instr, result: Form, forms: list[Form]) -> int:
    refined = [form.refined(max(form.segments, result.segments)).align for form in forms]
    op, amount = instr.op, _constant(instr)
    if op in ("mov", "cvta", "cvt"):
        return refined[0]
    if op in ("add", "sub", "or", "xor", "selp"):
        return min(refined[:2])
    if op == "and" and amount is not None:
        return low_bit(amount & -refined[0])
    if op == "shl" and amount is not None:
        return refined[0] << min(amount & 0xFFFFFFFF, 64)
    if op == "shr" and amount is not None:
        return refined[0] >> min(amount & 0xFFFFFFFF, 64)
    if _low_product(instr):
        product = refined[0] * refined[1]
        return min(product, refined[2]) if op == "mad" else product
    return 1


def _most(instr: Instr, most: list[int]) -> int:
    op, amount = instr.op, _constant(instr)
    if op in ("mov", "cvt"):
        return most[0]
    if op == "add":
        return most[0] + most[1]
    if op == "selp":
        return max(most[:2])
    if op == "and":
        return min(most)
    if op in ("or", "xor"):
        return (1 << max(most).bit_length()) - 1
    if op == "shl" and amount is not None:
        return most[0] << min(amount & 0xFFFFFFFF, 64)
    if op == "shr" and amount is not None and most[0] < UNBOUNDED:
        return most[0] >> min(amount & 0xFFFFFFFF, 64)
    if _low_product(instr):
        return most[0] * most[1] + (most[2] if op == "mad" else 0)
    return UNBOUNDED
