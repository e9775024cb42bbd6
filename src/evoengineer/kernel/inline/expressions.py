"""Expressions: plain values where a file's text says them, C++ where they depend on the arguments."""

from __future__ import annotations

import ast
from string import Template

from evoengineer.kernel.inline.arithmetic import (
    MOST_LETTERS,
    binary,
    bounded_format,
    chosen,
    compared,
    is_number,
    joined_conditions,
    literal,
    negated,
    negation,
)
from evoengineer.kernel.inline.calls import Calls
from evoengineer.kernel.inline.extension import Extension
from evoengineer.kernel.inline.reading import at_line, fixed, known, plain, truth
from evoengineer.kernel.inline.torch_names import constant_named, tensor_attribute
from evoengineer.kernel.inline.values import (
    Device,
    Dtype,
    Initial,
    Instance,
    Many,
    Method,
    Named,
    Number,
    PythonClass,
    PythonFunction,
    Scope,
    Shape,
    Tensor,
    Unreadable,
    Value,
    decorators_of,
)

MOST_ROUNDS = 256
_BUILTINS = frozenset({
    *("int", "float", "bool", "str", "len", "max", "min", "range", "list", "tuple", "dict", "print", "isinstance"),
    *("getattr", "hasattr", "abs", "zip", "enumerate", "super", "object", "repr", "sum", "globals", "set", "open"),
})  # fmt: skip
_ALIASES = {"torch.nn.parameter.Parameter": "torch.nn.Parameter", "torch.Tensor": "torch.Tensor"}


class Expressions(Calls):
    """Values of expressions."""

    def _value(self, node: ast.expr, scope: Scope) -> Value:
        self._step(node)
        try:
            return self._expression(node, scope)
        except Unreadable as error:
            raise at_line(error, node) from None

    def _expression(self, node: ast.expr, scope: Scope) -> Value:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._name(node.id, scope)
            case ast.Attribute():
                return self._attribute(self._value(node.value, scope), node.attr)
            case ast.BinOp():
                left, right = self._value(node.left, scope), self._value(node.right, scope)
                for each in (left, right):
                    if isinstance(each, Initial):
                        return each
                return binary(type(node.op), known(left), known(right))
            case ast.UnaryOp():
                operand = known(self._value(node.operand, scope))
                if isinstance(node.op, ast.Not):
                    return negation(truth(operand))
                if isinstance(node.op, ast.USub) and (is_number(operand) or isinstance(operand, Tensor)):
                    return negated(operand)
                raise Unreadable("an operator is not understood")
            case ast.BoolOp():
                values = [truth(self._value(each, scope)) for each in node.values]
                return joined_conditions(isinstance(node.op, ast.And), values)
            case ast.Compare():
                return self._compare(node, scope)
            case ast.IfExp():
                condition = truth(self._value(node.test, scope))
                if isinstance(condition, Number) and (self.running or condition.value is None):
                    return chosen(condition, self._value(node.body, scope), self._value(node.orelse, scope))
                return self._value(node.body if fixed(condition) else node.orelse, scope)
            case ast.List() | ast.Tuple():
                listed = self._listed(node.elts, scope)
                return listed if isinstance(node, ast.List) else tuple(listed)
            case ast.Dict():
                return self._dict(node, scope)
            case ast.JoinedStr():
                return self._formatted(node, scope)
            case ast.Subscript():
                return self._item(self._value(node.value, scope), node.slice, scope)
            case ast.Call():
                return self._call(node, scope)
            case ast.Lambda():
                return PythonFunction(node, scope)
            case ast.ListComp() | ast.GeneratorExp():
                return self._comprehension(node, scope)
            case _:
                raise Unreadable(f"an expression ({type(node).__name__}) is not understood")

    def _name(self, name: str, scope: Scope) -> Value:
        try:
            return scope.find(name)
        except KeyError:
            if name == "__name__":
                return "kernel"
            if name in _BUILTINS:
                return Named(f"builtins.{name}")
            raise Unreadable(f"{name} is not defined, or not where it can be read") from None

    def _attribute(self, owner: Value, name: str) -> Value:
        owner = known(owner)
        if isinstance(owner, Named):
            path = f"{owner.path}.{name}"
            return constant_named(path) or named(path)
        if isinstance(owner, Instance):
            return self._member(owner, name)
        if isinstance(owner, PythonClass):
            if name == "apply" and owner.derives("Function"):
                return Method(owner, "apply")
            found = owner.find(name)
            if isinstance(found, PythonFunction) and "classmethod" in decorators_of(found):
                return PythonFunction(found.node, found.scope, owner, bound=True)
            if found is not None:
                return found
        if isinstance(owner, Tensor):
            found = tensor_attribute(owner, name)
            return Method(owner, name) if found is NotImplemented else found
        if isinstance(owner, Device) and name in ("type", "index"):
            return "cuda" if name == "type" else 0
        if isinstance(owner, (Extension, str, list, tuple, dict, Shape, Initial, Template)):
            return Method(owner, name)
        raise Unreadable(f"the attribute {name} of a {type(owner).__name__} is not understood")

    def _compare(self, node: ast.Compare, scope: Scope) -> Value:
        values = [known(self._value(each, scope)) for each in (node.left, *node.comparators)]
        if any(isinstance(each, (Dtype, Device)) for each in values):
            return self._compare_types(node, values)
        if any(isinstance(each, Shape) for each in values):
            return self._compare_shapes(node, values)
        parts = [
            compared(type(kind), left, right)
            for kind, left, right in zip(node.ops, values, values[1:], strict=False)
        ]
        return parts[0] if len(parts) == 1 else joined_conditions(True, parts)

    def _compare_types(self, node: ast.Compare, values: list[Value]) -> Value:
        if len(values) == 2 and isinstance(node.ops[0], (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
            equal = isinstance(node.ops[0], (ast.Eq, ast.Is))
            left, right = values
            if isinstance(left, Dtype) and isinstance(right, Dtype):
                return Number(f"({left.code} {'==' if equal else '!='} {right.code})", "bool")
            if isinstance(left, Device) and isinstance(right, Device):
                return equal  # everything is on the one GPU
        raise Unreadable("a comparison of types or devices is not understood")

    def _compare_shapes(self, node: ast.Compare, values: list[Value]) -> Value:
        left, right = values[0], values[-1]
        both = len(values) == 2 and isinstance(left, Shape) and isinstance(right, Shape)
        if both and isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
            sign = "==" if isinstance(node.ops[0], ast.Eq) else "!="
            return Number(f"({left.tensor.code}.sizes() {sign} {right.tensor.code}.sizes())", "bool")
        raise Unreadable("a comparison of shapes is not understood")

    def _dict(self, node: ast.Dict, scope: Scope) -> dict[Value, Value]:
        found: dict[Value, Value] = {}
        for key, each in zip(node.keys, node.values, strict=True):
            name = None if key is None else plain(self._value(key, scope))
            if not isinstance(name, (str, int)):
                raise Unreadable("a dict with keys that are not plain is not understood")
            found[name] = self._value(each, scope)
        return found

    def _formatted(self, node: ast.JoinedStr, scope: Scope) -> str:
        parts = []
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                value = plain(self._value(each.value, scope))
                form = (
                    self._formatted(each.format_spec, scope)
                    if isinstance(each.format_spec, ast.JoinedStr)
                    else ""
                )
                bounded_format([form])
                if not isinstance(value, (str, int, float)):
                    raise Unreadable("an f-string has a part that cannot be read without running the file")
                try:
                    parts.append(format(repr(value) if each.conversion == ord("r") else value, form))
                except ValueError as error:
                    raise Unreadable(f"an f-string: {error}") from None
            else:
                parts.append(str(self._value(each, scope)))
            if sum(map(len, parts)) > MOST_LETTERS:
                raise Unreadable("a text is too long")
        return "".join(parts)

    def _item(self, owner: Value, index: ast.expr, scope: Scope) -> Value:
        owner = known(owner)
        if isinstance(index, ast.Slice):
            if isinstance(owner, Shape) and owner.tensor.rank is not None:
                owner = self._parts(owner, owner.tensor.rank)
            bounds = [
                None if each is None else self._value(each, scope)
                for each in (index.lower, index.upper, index.step)
            ]
            if isinstance(owner, (list, tuple, str)) and all(
                each is None or isinstance(each, int) for each in bounds
            ):
                return owner[slice(*bounds)]
            raise Unreadable("a slice is not understood", forbidden=isinstance(owner, Tensor))
        key = self._value(index, scope)
        if (
            isinstance(owner, Instance)
            and owner.own is None
            and isinstance(key, int)
            and not isinstance(key, bool)
        ):
            owner = list(owner.children.values())
        if isinstance(owner, Shape) and is_number(key):
            return Number(f"{owner.tensor.code}.size({literal(key)})")
        if isinstance(owner, Many) and isinstance(key, int) and key >= 0:
            return owner.item(key)
        if isinstance(owner, Tensor) and is_number(key):
            return Tensor(
                f"{owner.code}.select(0, {literal(key)})", None if owner.rank is None else owner.rank - 1
            )
        if isinstance(owner, (list, tuple, dict, str)):
            try:
                return owner[fixed(key)]
            except (KeyError, IndexError, TypeError):
                pass
        raise Unreadable("an item is taken of what is not understood", forbidden=isinstance(owner, Tensor))

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> list[Value]:
        generator = node.generators[0]
        rounds = self._value(generator.iter, scope)
        if isinstance(rounds, Shape) and rounds.tensor.rank is not None:
            rounds = self._parts(rounds, rounds.tensor.rank)
        if len(node.generators) > 1 or generator.ifs or not isinstance(rounds, (list, tuple, range)):
            raise Unreadable("a comprehension is not understood")
        if len(rounds) > MOST_ROUNDS:
            raise Unreadable("a comprehension has too many rounds")
        inside, found = Scope(outer=scope), []
        for each in rounds:
            self._assign(generator.target, each, inside)
            found.append(self._value(node.elt, inside))
        return found


def named(path: str) -> Named:
    return Named(_ALIASES.get(path, path))
