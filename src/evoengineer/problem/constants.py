"""What the sizes of a KernelBench file are called, and the file with other ones.

They are the whole-number constants of its module that `get_inputs` or `get_init_inputs` mention. Constants that the
file computes from them (`bias_shape = (out_channels, 1, 1)`) are no sizes of their own: they follow. Numbers that
stand in these functions themselves, as in `torch.rand(batch_size, 3, 224, 224)`, get names: `size_1`, `size_2` ….
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

Sizes = dict[str, int]

SMALL = 8  # constants up to this are windows, strides and the like, and stay
_FUNCTIONS = ("get_inputs", "get_init_inputs")
_PLACE = "__"  # between the name of a tuple and the place of a number in it
_ARITHMETIC = (
    ast.Expression, ast.Name, ast.Load, ast.Constant, ast.Tuple, ast.List, ast.BinOp, ast.UnaryOp, ast.operator,
    ast.unaryop,
)  # fmt: skip


class Constants:
    """The sizes that a module has, `own`, and a way to change them."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module
        text = "".join(_source(module, function) for function in _FUNCTIONS)
        names = [*dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text)), *_name_literals(module)]
        self._following = _following(module, set(names))
        self.own: Sizes = {}
        for name in names:
            value: Any = getattr(module, name, None)
            if name in self._following:
                continue
            if _is_size(value):
                self.own[name] = value
            elif isinstance(value, (tuple, list)) and all(_is_size(each) for each in value):
                self.own.update({f"{name}{_PLACE}{place}": each for place, each in enumerate(value)})

    @contextmanager
    def resized(self, sizes: Mapping[str, int]) -> Iterator[None]:
        """The module with other sizes; those in effect before come back afterwards."""
        changed: dict[str, Any] = {}
        for key, size in sizes.items():
            name, _, place = key.partition(_PLACE) if key not in vars(self._module) else (key, "", "")
            if place:  # one number of a tuple; those of it are called `name__0`, `name__1` and so on
                whole = list(changed.get(name, getattr(self._module, name)))
                whole[int(place)] = size
                changed[name] = tuple(whole)
            else:
                changed[name] = size
        before = {name: getattr(self._module, name) for name in (*changed, *self._following)}
        try:
            vars(self._module).update(changed)
            for name, rule in self._following.items():
                setattr(self._module, name, eval(rule, vars(self._module)))
            yield
        finally:
            vars(self._module).update(before)


def _is_size(value: Any) -> bool:
    return type(value) is int and value > 0


def _source(module: types.ModuleType, function: str) -> str:
    return inspect.getsource(getattr(module, function)) if hasattr(module, function) else ""


def _following(module: types.ModuleType, names: set[str]) -> dict[str, types.CodeType]:
    """Constants that arithmetic makes of others, all of them among `names`, in the file's order; each with its rule."""
    found: dict[str, types.CodeType] = {}
    for statement in ast.parse(inspect.getsource(module)).body:
        if not isinstance(statement, ast.Assign):
            continue
        for name in (
            node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)
        ):
            found.pop(name, None)  # what is assigned again has no earlier rule
        target, value = statement.targets[0], statement.value
        used = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
        arithmetic = all(isinstance(node, _ARITHMETIC) for node in ast.walk(value))
        if isinstance(target, ast.Name) and target.id in names and arithmetic and used and used <= names:
            rule = compile(ast.Expression(value), module.__file__ or "", "eval")
            if eval(rule, vars(module)) == getattr(module, target.id, None):
                found[target.id] = rule
    return found


def _names_in(*trees: ast.AST) -> set[str]:
    return {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}


class _Naming(ast.NodeTransformer):
    """Puts names in place of whole numbers that may be sizes."""

    def __init__(self, taken: set[str]) -> None:
        self.values: Sizes = {}
        self._taken = taken

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not _is_size(node.value) or node.value <= SMALL:  # type: ignore[operator]
            return node
        number = len(self.values) + 1
        while f"size_{number}" in self._taken:
            number += 1
        name = f"size_{number}"
        self._taken.add(name)
        self.values[name] = node.value  # type: ignore[assignment]
        return ast.copy_location(ast.Name(name, ast.Load()), node)


def _name_literals(module: types.ModuleType) -> list[str]:
    """Redefine the module's functions with names for their literal sizes; gives the names."""
    naming = _Naming(set(vars(module)))
    for function in _FUNCTIONS:
        definition = _definition(module, function)
        if definition is None:
            continue
        before = len(naming.values)
        definition.body = [naming.visit(each) for each in definition.body]
        if len(naming.values) > before:
            tree = ast.fix_missing_locations(ast.Module([definition], []))
            ast.increment_lineno(tree, getattr(module, function).__code__.co_firstlineno - 1)
            exec(compile(tree, module.__file__ or "", "exec"), vars(module))
    vars(module).update(naming.values)
    return list(naming.values)


def _definition(module: types.ModuleType, function: str) -> ast.FunctionDef | None:
    """Of a function that the module itself defines; None for one that was made some other way, and stays."""
    made = getattr(module, function, None)
    if not isinstance(made, types.FunctionType) or made.__globals__ is not vars(module):
        return None
    try:
        body = ast.parse(textwrap.dedent(_source(module, function))).body
    except SyntaxError:  # a piece of an expression
        return None
    plain = len(body) == 1 and isinstance(body[0], ast.FunctionDef) and not made.__code__.co_freevars
    return body[0] if plain and not body[0].decorator_list else None  # type: ignore[return-value, attr-defined]
