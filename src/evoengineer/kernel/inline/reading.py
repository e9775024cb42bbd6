"""What reading keeps while it goes through a file: the C++ function so far, and bounds on the work."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from evoengineer.kernel.inline.extension import Extension
from evoengineer.kernel.inline.values import (
    Device,
    Dtype,
    Initial,
    Instance,
    Many,
    Number,
    Parameter,
    PythonFunction,
    Scope,
    Shape,
    Tensor,
    Unknown,
    Unreadable,
    Value,
)

_MOST_STEPS = 100_000


@dataclass(frozen=True, slots=True)
class Returned:
    """How a function ended; `value` is None also where it raised."""

    value: Value = None
    ended: bool = False  # in C++, too: a `return` or a failed check was written


class Reader:
    """`lines` is the body of the C++ function so far."""

    def __init__(self) -> None:
        self.module = Scope()
        self.lines: list[str] = []
        self.extensions: list[Extension] = []  # those that forward calls, in that order
        self.state: dict[int, Tensor] = {}  # of a module's parameter, by id, the argument that it is
        self.troubles: list[Unreadable] = []  # what was not understood before forward
        self.results: set[str] = set()  # C++ types that forward returns
        self.running = False  # in forward
        self._steps, self._depth, self._names = 0, 0, 0

    def _value(self, node: ast.expr, scope: Scope) -> Value:
        raise NotImplementedError  # expressions.py

    def _assign(self, target: ast.expr, value: Value, scope: Scope) -> None:
        raise NotImplementedError  # interpreter.py

    def _block(self, body: Sequence[ast.stmt], scope: Scope) -> Returned | None:
        raise NotImplementedError  # interpreter.py

    def _step(self, node: ast.AST) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise Unreadable("the file has too many steps to be read", line=getattr(node, "lineno", 0))

    def _fresh(self) -> str:
        self._names += 1
        return f"model_value{self._names}"

    def _kept(self, value: Value) -> Value:
        """A tensor gets a name when it is made: used twice, it is still one tensor."""
        if not self.running or not isinstance(value, Tensor) or value.code.isidentifier():
            return value
        variable = self._fresh()
        self.lines.append(f"torch::Tensor {variable} = {value.code};")
        return Tensor(variable, value.rank)

    def _parts(self, value: Value, count: int) -> list[Value]:
        if isinstance(value, Shape):
            return [Number(f"{value.tensor.code}.size({place})") for place in range(count)]
        if isinstance(value, Many):
            return [value.item(place) for place in range(count)]
        if isinstance(value, (list, tuple)) and len(value) == count:
            return list(value)
        raise Unreadable(f"{count} values are taken from what has not so many")

    def _argument(self, parameter: Parameter) -> Tensor:
        """The problem's argument that a parameter is."""
        found = self.state.get(id(parameter))
        if found is None:
            raise Unreadable("a parameter is used before the model is complete")
        return found


def known(value: Value) -> Value:
    """The value, unless it could not be read when it was made."""
    if isinstance(value, Unknown):
        raise Unreadable(value.reason, line=value.line, forbidden=value.forbidden)
    return value


def truth(value: Value) -> Value:
    value = known(value)
    if isinstance(value, Tensor):
        return True  # `if bias is not None` is asked for as `if bias`
    if isinstance(
        value, (Instance, Extension, Shape, Many, Dtype, Device, PythonFunction, Parameter, Initial)
    ):
        return True
    return value


def plain(value: Value) -> Value:
    """A number that is known by its value."""
    value = known(value)
    if isinstance(value, Number):
        raise Unreadable("a text depends on a size that changes from case to case")
    return value


def fixed(value: Value) -> Value:
    """A number by the value that the problem's own sizes give it."""
    return value.value if isinstance(value, Number) else value


def at_line(error: Unreadable, node: ast.AST) -> Unreadable:
    if not error.line:
        error.line = getattr(node, "lineno", 0)
    return error
