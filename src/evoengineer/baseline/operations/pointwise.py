"""Operations on every element by itself: a formula of `formulas.py` applied to one tensor or two."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evoengineer.baseline.formulas import BINARY, GELU, POWERS, UNARY
from evoengineer.baseline.operations.writing import Given, Unsupported, Writer, Writing, is_tensor


def pointwise(name: str) -> Writer | None:
    """A writer from a formula; None if there is none."""
    if name in UNARY:
        return lambda w, given: unary(w, name, UNARY[name], given)
    if name in BINARY:
        return lambda w, given: binary(w, name, given)
    return None


def unary(w: Writing, name: str, formula: str, given: Given) -> str:
    w.use("apply")
    return f"apply({w.functor(name, formula, 'x', given)}, {w.tensor(given['self'])})"


def binary(w: Writing, name: str, given: Given) -> str:
    first = given["self"]
    others = [key for key in ("other", "exponent", "min", "max", "weight") if given.get(key) is not None]
    second = given[others[0]]
    if given.get("rounding_mode") is not None:
        raise Unsupported(f"{name} with rounding_mode")
    formula = BINARY[name]
    if given.get("alpha", 1) != 1:
        formula = formula.replace("y", "{alpha} * y") if name != "rsub" else "y - {alpha} * x"
    if name == "pow" and not is_tensor(second) and float(second) in POWERS:
        return unary(w, "power", POWERS[float(second)], given)
    if is_tensor(first) and is_tensor(second):
        w.use("combine")
        functor = w.functor(name, formula, "x, y", given)
        return f"combine({functor}, {w.tensor(first)}, {w.tensor(second)})"
    number, tensor = (second, first) if is_tensor(first) else (first, second)
    letter = "y" if is_tensor(first) else "x"
    w.use("apply")
    functor = w.functor(name, _with_number(formula, letter), "x", {**given, "number": number})
    return f"apply({functor}, {w.tensor(tensor)})"


def _with_number(formula: str, letter: str) -> str:
    """A formula of x and y as one of x alone, the other being a number."""
    if letter == "x":
        formula = re.sub(r"\bx\b", "{number}", formula)
        return re.sub(r"\by\b", "x", formula)
    return re.sub(r"\by\b", "{number}", formula)


def _gelu(w: Writing, given: Given) -> str:
    return unary(w, "gelu", GELU[given["approximate"]], given)


def _clamp(w: Writing, given: Given) -> str:
    low, high = given.get("min"), given.get("max")
    text = w.tensor(given["self"])
    for bound, name, formula in ((low, "at_least", "fmaxf"), (high, "at_most", "fminf")):
        if bound is None:
            continue
        if is_tensor(bound):
            w.use("combine")
            text = f"combine({w.functor(name, formula + '(x, y)', 'x, y', {})}, {text}, {w.tensor(bound)})"
        else:
            w.use("apply")
            functor = w.functor(name, formula + "(x, {bound})", "x", {"bound": bound})
            text = f"apply({functor}, {text})"
    return text


def _where(w: Writing, given: Given) -> str:
    w.use("choose")
    parts = [_as_tensor(w, given[name]) for name in ("self", "other")]
    return f"chosen({w.tensor(given['condition'])}, {', '.join(parts)})"


def _masked_fill(w: Writing, given: Given) -> str:
    w.use("choose")
    return f"chosen({w.tensor(given['mask'])}, {_as_tensor(w, given['value'])}, {w.tensor(given['self'])})"


def _as_tensor(w: Writing, value: Any) -> str:
    if is_tensor(value):
        return w.tensor(value)
    w.use("write")
    return f"filled({{}}, {w.real(value)}, {w.anyone()})"


OPERATIONS: Mapping[str, Writer] = {
    "gelu": _gelu,
    "clamp": _clamp,
    "where": _where,
    "masked_fill": _masked_fill,
}
