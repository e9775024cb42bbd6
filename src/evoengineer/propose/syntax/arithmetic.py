"""Values of simple C++ expressions whose names are known: knobs, constants, sizes of tensors."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from evoengineer.propose.syntax.tree import NotUnderstood

_SIZES = {"float": 4, "int": 4, "double": 8, "half": 2, "__half": 2, "__nv_bfloat16": 2, "int8_t": 1, "char": 1,
          "int64_t": 8, "unsigned": 4, "uint8_t": 1, "int32_t": 4}  # fmt: skip
_INTEGERS = r"(?:unsigned\s+)?(?:int|long|long\s+long|unsigned|(?:std::)?u?int(?:32|64)_t|(?:std::)?size_t)"
_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
_COMPARE: dict[type, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip


def value_of(expression: str, names: Mapping[str, int]) -> int:
    """The integer that an expression stands for; `NotUnderstood` for anything that is not plain arithmetic."""
    text = re.sub(
        r"\bsizeof\s*\(\s*(\w+)\s*\)", lambda match: str(_SIZES.get(match[1], "unknown")), expression
    )
    text = re.sub(r"\bstatic_cast<[\w: ]+>", "", text)
    text = re.sub(rf"\(\s*(?:{_INTEGERS})\s*\)(?=\s*[\w(])|\b(?:{_INTEGERS})\b(?=\s*\()", "", text)  # casts
    text = re.sub(r"\b(\d+)(?:u|U|l|L|ll|LL|ull|ULL)\b", r"\1", text)
    text = text.replace("&&", " and ").replace("||", " or ").replace("/", "//")
    text = re.sub(r"!(?!=)", " not ", text)
    try:
        tree = ast.parse(" ".join(text.split()), mode="eval")
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NotUnderstood(f"the expression {expression}") from error
    return int(_value(tree.body, names))


def _value(node: ast.expr, names: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Attribute() if ast.unparse(node) in names:
            return names[ast.unparse(node)]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            first, second = _value(left, names), _value(right, names)
            if isinstance(op, ast.FloorDiv | ast.Mod) and (second <= 0 or first < 0):
                raise NotUnderstood("a quotient that rounds otherwise in C++")
            if isinstance(op, ast.LShift | ast.RShift) and not 0 <= second < 64:
                raise NotUnderstood("a shift out of range")
            return int(_BINARY[type(op)](first, second))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return int(not _value(operand, names))
        case ast.BoolOp(op=op, values=values):
            results = [_value(each, names) for each in values]
            return int(all(results) if isinstance(op, ast.And) else any(results))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
            return int(_COMPARE[type(op)](_value(left, names), _value(right, names)))
        case ast.Call() if ast.unparse(node) in names:
            return names[ast.unparse(node)]
    raise NotUnderstood(f"the expression {ast.unparse(node)}")
