"""What a Python expression can be while a file is read without being run.

Plain Python numbers, strings, None, lists, tuples and dicts stand for themselves. The rest are the records below:
`Tensor` and `Number` are C++ expressions of the function that takes ModelNew.forward's place.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Value = Any  # of the kinds named above


class Unreadable(Exception):
    """Why a file cannot be turned into one kernel text; `forbidden` if it computes with the library instead."""

    def __init__(self, reason: str, *, line: int = 0, forbidden: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.line, self.forbidden = reason, line, forbidden

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}" if self.line else self.reason


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of the problem's."""

    name: str
    kind: str  # "tensor", "int", "float", "bool"
    rank: int | None = None  # of a tensor


@dataclass(frozen=True, slots=True)
class Signature:
    """What the file is read for: the problem's arguments in order, and a reference with `get_init_inputs`."""

    arguments: tuple[Argument, ...]
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Tensor:
    code: str
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """A number that is known when the kernel is called; `value` is what a problem's own sizes make of it."""

    code: str
    kind: str = "int"  # or "float", "bool"
    value: int | float | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """`x.shape`: its length may not be known."""

    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Many:
    """Several tensors that a C++ function returned."""

    code: str
    kind: str  # "vector" or "tuple"

    def item(self, index: int) -> Tensor:
        return Tensor(f"{self.code}[{index}]" if self.kind == "vector" else f"std::get<{index}>({self.code})")


@dataclass(frozen=True, slots=True)
class Dtype:
    code: str


@dataclass(frozen=True, slots=True)
class MemoryFormat:
    code: str


@dataclass(frozen=True, slots=True)
class Device:
    pass


@dataclass(frozen=True, slots=True)
class Named:
    """Something of a library: `torch.nn.functional.relu`."""

    path: str


@dataclass(frozen=True, slots=True)
class Method:
    owner: Value
    name: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Not understood; harmless until it is used."""

    reason: str
    line: int = 0
    forbidden: bool = False


@dataclass(frozen=True, slots=True)
class Initial:
    """A tensor that __init__ makes. Only as a parameter or a buffer does it reach the kernel."""

    shape: tuple[Value, ...] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Parameter:
    """A parameter or a buffer: each is one of its own."""

    shape: tuple[Value, ...] | None = None


@dataclass(eq=False, slots=True)
class Instance:
    """A module: one of the file's own classes, or one of torch.nn by its name."""

    kind: str
    own: PythonClass | None = None
    values: dict[str, Value] = field(default_factory=dict)
    parameters: dict[str, Parameter] = field(default_factory=dict)
    buffers: dict[str, Parameter] = field(default_factory=dict)
    children: dict[str, Instance] = field(default_factory=dict)

    def state(self, prefix: str = "") -> dict[str, Parameter]:
        """Parameters and buffers by their names, in the order of `state_dict`."""
        found = {f"{prefix}{name}": each for name, each in (*self.parameters.items(), *self.buffers.items())}
        for name, child in self.children.items():
            found.update(child.state(f"{prefix}{name}."))
        return found


@dataclass(eq=False, slots=True)
class Scope:
    """Names and their values; `outer` is the module's scope, or that around a nested function."""

    names: dict[str, Value] = field(default_factory=dict)
    outer: Scope | None = None
    shared: set[str] = field(default_factory=set)  # declared `global`

    def find(self, name: str) -> Value:
        """Raises KeyError."""
        if name in self.names and name not in self.shared:
            return self.names[name]
        if self.outer is None:
            return self.names[name]
        return self.outer.find(name)

    def set(self, name: str, value: Value) -> None:
        if name in self.shared and self.outer is not None:
            self.module().names[name] = value
        else:
            self.names[name] = value

    def module(self) -> Scope:
        return self if self.outer is None else self.outer.module()


@dataclass(eq=False, slots=True)
class PythonFunction:
    node: ast.FunctionDef | ast.Lambda
    scope: Scope
    owner: Value = None  # what comes as `self`, if anything
    bound: bool = False


def decorators_of(function: PythonFunction) -> list[str]:
    return [ast.unparse(each) for each in getattr(function.node, "decorator_list", ())]


@dataclass(eq=False, slots=True)
class PythonClass:
    name: str
    bases: tuple[Value, ...]
    members: Mapping[str, Value]

    def find(self, name: str) -> Value:
        """A member of the class or of one of its bases in the file; None if there is none."""
        if name in self.members:
            return self.members[name]
        for base in self.bases:
            found = base.find(name) if isinstance(base, PythonClass) else None
            if found is not None:
                return found
        return None

    def derives(self, ending: str) -> bool:
        """Whether a library class with a name that ends so is among its ancestors."""
        return any(
            base.derives(ending)
            if isinstance(base, PythonClass)
            else isinstance(base, Named) and base.path.endswith(ending)
            for base in self.bases
        )
