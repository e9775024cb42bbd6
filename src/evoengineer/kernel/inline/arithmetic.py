"""Numbers and strings: computed where they are known, C++ expressions where they are not.

What a file could make large (repeated strings, powers, padded formats) is bounded before it is computed.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable
from string import Formatter

from evoengineer.kernel.inline.values import Number, Tensor, Unreadable, Value

MOST_LETTERS = 1 << 20
_MOST_BITS = 256
_PERCENT = re.compile(r"%(?:%|(?:\([^)]*\))?([^a-zA-Z%]*)[a-zA-Z])")  # of a field: flags, width, precision
_WIDE = re.compile(r"\d{4,}")  # of a format: a width that no source needs

_OPERATORS: dict[type[ast.operator], tuple[str, Callable[[Value, Value], Value]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("/", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
    ast.BitAnd: ("&", operator.and_),
    ast.BitOr: ("|", operator.or_),
    ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
    ast.MatMult: ("@", operator.matmul),
}
_COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[[Value, Value], Value]]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}
_FLOAT_FUNCTIONS = ("sqrt", "exp", "log", "log2", "tanh", "sin", "cos", "erf")


def is_number(value: Value) -> bool:
    return isinstance(value, (int, float, Number))


def literal(value: Value) -> str:
    """A number or a string as C++ writes it."""
    if isinstance(value, Number):
        return value.code
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if math.isnan(value):
            return "NAN"
        return repr(value) if math.isfinite(value) else ("INFINITY" if value > 0 else "-INFINITY")
    if isinstance(value, int):
        if abs(value) >= 1 << 63:
            raise Unreadable(f"{value} does not fit into 64 bits")
        return str(value) if abs(value) < 1 << 31 else f"INT64_C({value})"
    if isinstance(value, str):
        plain = {*range(32, 127)} - {*b'"\\'}
        spelled = "".join(
            chr(each) if each in plain else f"\\{each:03o}" for each in value.encode("utf-8", "replace")
        )
        return f'"{spelled}"'
    raise Unreadable(f"{type(value).__name__} cannot be passed to a C++ function")


def kind_of(value: Value) -> str:
    if isinstance(value, Number):
        return value.kind
    return "bool" if isinstance(value, bool) else "float" if isinstance(value, float) else "int"


def binary(kind: type[ast.operator], left: Value, right: Value) -> Value:
    """The result of `left op right`; raises Unreadable."""
    sign, compute = _OPERATORS.get(kind, ("", operator.add))
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        raise Unreadable(f"operator {sign or kind.__name__} on tensors", forbidden=True)
    if not sign:
        raise Unreadable(f"the operator {kind.__name__} is not understood")
    if isinstance(left, Number) or isinstance(right, Number):
        if not (is_number(left) and is_number(right)):
            raise Unreadable(f"operator {sign} on {type(left).__name__} and {type(right).__name__}")
        return _symbolic(kind, sign, left, right)
    _bound(kind, left, right)
    try:
        return compute(left, right)
    except (TypeError, ValueError, ArithmeticError, MemoryError) as error:
        raise Unreadable(str(error)) from None


def _symbolic(kind: type[ast.operator], sign: str, left: Value, right: Value) -> Number:
    values = [each.value if isinstance(each, Number) else each for each in (left, right)]
    known = None if None in values else binary(kind, *values)
    float_result = "float" in (kind_of(left), kind_of(right))
    a, b = literal(left), literal(right)
    if kind is ast.Pow:
        if right == 2:
            return Number(f"({a} * {a})", kind_of(left), known)
        return Number(f"std::pow(static_cast<double>({a}), static_cast<double>({b}))", "float", known)
    if kind is ast.Div:
        return Number(f"(static_cast<double>({a}) / static_cast<double>({b}))", "float", known)
    if kind in (ast.FloorDiv, ast.Mod):
        if float_result or any(isinstance(each, (int, float)) and each < 0 for each in (left, right)):
            raise Unreadable(
                f"operator {'//' if kind is ast.FloorDiv else '%'} on these numbers is not understood"
            )
        if isinstance(left, Number) and left.code.startswith("(-"):
            raise Unreadable("a negative number is divided with //, which C++ rounds otherwise")
    return Number(f"({a} {sign} {b})", "float" if float_result else "int", known)


def _bound(kind: type[ast.operator], left: Value, right: Value) -> None:
    if kind is ast.Mult:
        for text, count in ((left, right), (right, left)):
            if (
                isinstance(text, (str, list, tuple))
                and isinstance(count, int)
                and len(text) * count > MOST_LETTERS
            ):
                raise Unreadable("a text is repeated until it is too long")
    texts = isinstance(left, str) and isinstance(right, str)
    if kind is ast.Add and texts and len(left) + len(right) > MOST_LETTERS:
        raise Unreadable("a text is too long")
    if kind in (ast.Pow, ast.LShift, ast.Mult) and isinstance(left, int) and isinstance(right, int):
        bits = {ast.Pow: left.bit_length() * abs(right), ast.LShift: left.bit_length() + abs(right)}
        if bits.get(kind, left.bit_length() + right.bit_length()) > _MOST_BITS:
            raise Unreadable("a number is too large")
    if kind is ast.Mod and isinstance(left, str):
        bounded_format(_PERCENT.findall(left))
        bounded_insertion(left, right if isinstance(right, (tuple, list)) else [right])


def braces_of(template: str) -> list[str]:
    """What follows the colon in the fields of a text for `format`; doubled braces, of C++, are none."""
    try:
        return [form or "" for _, _, form, _ in Formatter().parse(template)]
    except ValueError as error:
        raise Unreadable(f"a text for format: {error}") from error


def bounded_format(forms: Iterable[str]) -> None:
    """Refuse formats that pad to great widths."""
    if any(_WIDE.search(each) or set("*{") & set(each) for each in forms):
        raise Unreadable("a format is too wide")


def bounded_insertion(template: str, values: Iterable[Value]) -> None:
    """Refuse to insert long texts many times."""
    places = (
        len(template) + 1
        if not template.strip()
        else template.count("{") + template.count("%") + template.count("$")
    )
    longest = max((len(each) for each in values if isinstance(each, (str, list, tuple))), default=0)
    if places * longest > 4 * MOST_LETTERS:
        raise Unreadable("a text is too long")


def negated(value: Value) -> Value:
    if isinstance(value, Number):
        return Number(f"(-{value.code})", value.kind, None if value.value is None else -value.value)
    if isinstance(value, Tensor):
        raise Unreadable("operator - on tensors", forbidden=True)
    return -value


def compared(kind: type[ast.cmpop], left: Value, right: Value) -> Value:
    """The result of one comparison: a bool, or a Number of kind bool."""
    if kind in (ast.Is, ast.IsNot):
        return (left is right) == (kind is ast.Is)
    if kind in (ast.In, ast.NotIn):
        if isinstance(right, (list, tuple, dict, str)) and not isinstance(left, (Number, Tensor)):
            return (left in right) == (kind is ast.In)
        raise Unreadable("`in` is not understood here")
    sign, compute = _COMPARISONS[kind]
    if isinstance(left, Number) or isinstance(right, Number):
        if is_number(left) and is_number(right):
            values = [each.value if isinstance(each, Number) else each for each in (left, right)]
            known = None if None in values else compute(*values)
            return Number(f"({literal(left)} {sign} {literal(right)})", "bool", known)
        raise Unreadable(f"a number is compared with {type(right).__name__}")
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        raise Unreadable(f"operator {sign} on tensors", forbidden=True)
    try:
        return compute(left, right)
    except TypeError as error:
        raise Unreadable(str(error)) from None


def negation(value: Value) -> Value:
    if isinstance(value, Number):
        return Number(f"(!{value.code})", "bool", None if value.value is None else not value.value)
    return not value


def joined_conditions(conjunction: bool, values: list[Value]) -> Value:
    """`and` or `or`: known parts first, the rest in C++."""
    rest = []
    for value in values:
        if isinstance(value, Number):
            rest.append(value)
        elif bool(value) != conjunction:
            return value if not rest else (not conjunction)
        else:
            last = value
    if not rest:
        return last
    sign = " && " if conjunction else " || "
    return rest[0] if len(rest) == 1 else Number(f"({sign.join(each.code for each in rest)})", "bool")


def chosen(condition: Number, left: Value, right: Value) -> Value:
    """`left if condition else right`, of two alike values."""
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        return Tensor(f"({condition.code} ? {left.code} : {right.code})")
    if is_number(left) and is_number(right):
        kinds = {kind_of(left), kind_of(right)}
        kind = kinds.pop() if len(kinds) == 1 else "float" if "float" in kinds else "int"
        return Number(f"({condition.code} ? {literal(left)} : {literal(right)})", kind)
    raise Unreadable("a choice between unlike values is not understood")


def extreme(name: str, values: list[Value]) -> Value:
    """min or max."""
    if not values or not all(map(is_number, values)):
        raise Unreadable(f"{name} of what is not a list of numbers")
    if not any(isinstance(each, Number) for each in values):
        return (max if name == "max" else min)(values)
    kind = "float" if "float" in map(kind_of, values) else "int"
    cpp = "double" if kind == "float" else "int64_t"
    code = literal(values[0])
    for each in values[1:]:
        code = f"std::{name}<{cpp}>({code}, {literal(each)})"
    return Number(code, kind)


def converted(kind: str, value: Value) -> Value:
    """int(…), float(…), bool(…)."""
    if isinstance(value, Number):
        cpp = {"int": "int64_t", "float": "double", "bool": "bool"}[kind]
        known = None if value.value is None else {"int": int, "float": float, "bool": bool}[kind](value.value)
        return Number(f"static_cast<{cpp}>({value.code})", kind, known)
    if isinstance(value, (int, float, str)):
        try:
            return {"int": int, "float": float, "bool": bool}[kind](value)
        except (ValueError, OverflowError) as error:
            raise Unreadable(str(error)) from None
    raise Unreadable(f"{kind}() of a {type(value).__name__}", forbidden=isinstance(value, Tensor))


def mathematical(name: str, values: list[Value]) -> Value:
    """A function of the module math."""
    if not values or not all(map(is_number, values)):
        raise Unreadable(f"math.{name} of what is not a number")
    if not any(isinstance(each, Number) for each in values):
        function = getattr(math, name, None)
        if not callable(function) or name in ("factorial", "comb", "perm", "prod"):
            raise Unreadable(f"math.{name} is not understood")
        try:
            return function(*values)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise Unreadable(f"math.{name}: {error}") from None
    code = ", ".join(f"static_cast<double>({literal(each)})" for each in values)
    if name in _FLOAT_FUNCTIONS or name == "pow":
        return Number(f"std::{name}({code})", "float")
    if name in ("ceil", "floor"):
        return Number(f"static_cast<int64_t>(std::{name}({code}))", "int")
    raise Unreadable(f"math.{name} is not understood here")
