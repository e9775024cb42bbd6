"""Reading a Python file as if it ran: module, ModelNew.__init__, ModelNew.forward. Nothing is executed.

At module level and in __init__ what is not understood becomes `Unknown`, harmless until it is used. In forward,
tensors are C++ expressions, and statements go to `lines`; there, what is not understood ends the reading.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from string import Template

from evoengineer.kernel.inline.arithmetic import (
    MOST_LETTERS,
    binary,
    bounded_format,
    bounded_insertion,
    chosen,
    compared,
    converted,
    extreme,
    is_number,
    joined_conditions,
    literal,
    mathematical,
    negated,
    negation,
)
from evoengineer.kernel.inline.extension import Extension, read_load_inline
from evoengineer.kernel.inline.modules import make_module
from evoengineer.kernel.inline.torch_names import call_tensor, call_torch, dtype_named, tensor_attribute
from evoengineer.kernel.inline.values import (
    Device,
    Dtype,
    Initial,
    Instance,
    Many,
    Method,
    Named,
    Number,
    Parameter,
    PythonClass,
    PythonFunction,
    Scope,
    Shape,
    Tensor,
    Unknown,
    Unreadable,
    Value,
)

_MOST_STEPS = 100_000
_MOST_DEPTH = 40
_MOST_ROUNDS = 256
_BUILTINS = (
    *(
        "int",
        "float",
        "bool",
        "str",
        "len",
        "max",
        "min",
        "range",
        "list",
        "tuple",
        "dict",
        "print",
        "isinstance",
    ),
    *(
        "getattr",
        "hasattr",
        "abs",
        "zip",
        "enumerate",
        "super",
        "object",
        "repr",
        "sum",
        "globals",
        "set",
        "open",
    ),
)
_ALIASES = {"torch.nn.parameter.Parameter": "torch.nn.Parameter", "torch.Tensor": "torch.Tensor"}
_STRING_METHODS = (
    *("strip", "lstrip", "rstrip", "replace", "format", "join", "upper", "lower", "split", "splitlines"),
    *("removeprefix", "removesuffix", "startswith", "endswith", "encode"),
)


@dataclass(frozen=True, slots=True)
class Returned:
    """How a function ended; `value` is None also where it raised."""

    value: Value = None
    ended: bool = False  # in C++, too: a `return` or a failed check was written


class Interpreter:
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

    # -- statements --------------------------------------------------------------------------------

    def run_module(self, tree: ast.Module) -> None:
        """Definitions and constants of a file."""
        self._block(tree.body, self.module)

    def _block(self, body: Sequence[ast.stmt], scope: Scope) -> Returned | None:
        for statement in body:
            self._step(statement)
            try:
                ended = self._statement(statement, scope)
            except Unreadable as error:
                if self.running:
                    raise _at(error, statement) from None
                self.troubles.append(_at(error, statement))
                self._forget(statement, scope, error)
                continue
            if ended is not None:
                return ended
        return None

    def _step(self, node: ast.AST) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise Unreadable("the file has too many steps to be read", line=getattr(node, "lineno", 0))

    def _forget(self, statement: ast.stmt, scope: Scope, error: Unreadable) -> None:
        """What an assignment that is not understood would have set is unknown from then on."""
        unknown = Unknown(error.reason, error.line, error.forbidden)
        targets = (
            statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        )
        for target in targets:
            for node in ast.walk(target) if target is not None else ():
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    scope.set(node.id, unknown)
                elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    owner = scope.names.get(node.value.id)
                    if isinstance(owner, Instance):
                        owner.values[node.attr] = unknown

    def _statement(self, node: ast.stmt, scope: Scope) -> Returned | None:
        match node:
            case ast.Assign():
                value = self._value(node.value, scope)
                for target in node.targets:
                    self._assign(target, value, scope)
            case ast.AnnAssign(value=ast.expr() as expression):
                self._assign(node.target, self._value(expression, scope), scope)
            case ast.AugAssign():
                current = self._value(_load(node.target), scope)
                value = binary(type(node.op), current, self._value(node.value, scope))
                self._assign(node.target, value, scope)
            case ast.Return():
                return self._returned(None if node.value is None else self._value(node.value, scope))
            case ast.Expr():
                if not isinstance(node.value, ast.Constant):
                    self._value(node.value, scope)
            case ast.If():
                return self._if(node, scope)
            case ast.For():
                return self._for(node, scope)
            case ast.With():
                return self._with(node, scope)
            case ast.Try():
                return self._block([*node.body, *node.orelse, *node.finalbody], scope)
            case ast.FunctionDef():
                scope.set(node.name, PythonFunction(node, scope))
            case ast.ClassDef():
                scope.set(node.name, self._class(node, scope))
            case ast.Import() | ast.ImportFrom():
                self._import(node, scope)
            case ast.Global():
                scope.shared.update(node.names)
            case ast.Assert():
                self._assert(node, scope)
            case ast.Raise():
                if self.running:
                    self.lines.append('TORCH_CHECK(false, "ModelNew.forward raises");')
                    return Returned(ended=True)
                raise Unreadable("it raises an exception")
            case ast.Pass() | ast.Delete() | ast.AnnAssign():
                pass
            case _:
                raise Unreadable(f"a {type(node).__name__.lower()} statement is not understood")
        return None

    def _returned(self, value: Value) -> Returned:
        if self._depth > 1 or not self.running:
            return Returned(value)
        if value is None:
            raise Unreadable("ModelNew.forward returns nothing")
        if isinstance(value, (list, tuple)):
            codes = [self._tensor(each).code for each in value]
            code, kind = f"std::vector<torch::Tensor>{{{', '.join(codes)}}}", "std::vector<torch::Tensor>"
        elif isinstance(value, Many):
            code, kind = value.code, f"auto ({value.kind})"
        else:
            code, kind = self._tensor(value).code, "torch::Tensor"
        self.results.add(kind)
        self.lines.append(f"return {code};")
        return Returned(value, ended=True)

    def _tensor(self, value: Value) -> Tensor:
        found = _known(value)
        if isinstance(found, Tensor):
            return found
        raise Unreadable(f"ModelNew.forward returns a {type(found).__name__} instead of tensors")

    def _if(self, node: ast.If, scope: Scope) -> Returned | None:
        condition = _truth(self._value(node.test, scope))
        if not isinstance(condition, Number) or (not self.running and condition.value is not None):
            truth = condition.value if isinstance(condition, Number) else condition
            return self._block(node.body if truth else node.orelse, scope)
        if not self.running:
            raise Unreadable("a condition in __init__ is not known")
        return self._branches(condition, node, scope)

    def _branches(self, condition: Number, node: ast.If, scope: Scope) -> Returned | None:
        """Both ways, as C++. What one of them sets becomes a variable of C++ that the other leaves as it was."""
        before, outside = dict(scope.names), self.lines
        ways: list[tuple[list[str], dict[str, Value], bool]] = []
        for body in (node.body, node.orelse):
            scope.names, self.lines = dict(before), []
            ended = self._block(body, scope)
            if ended is not None and not ended.ended:
                raise Unreadable("a function that forward calls returns inside a branch")
            ways.append((self.lines, scope.names, ended is not None))
        scope.names, self.lines = dict(before), outside
        going = [(lines, names) for lines, names, ended in ways if not ended]
        for name in sorted(
            {name for _, names in going for name in names if names[name] is not before.get(name)}
        ):
            values = [_known(names.get(name, before.get(name))) for _, names in going]
            tensors = all(isinstance(each, Tensor) for each in values)
            if not tensors and not all(is_number(each) for each in values):
                scope.names[name] = Unknown(f"{name} is set in one branch only, or to unlike values")
                continue
            kind = (
                "torch::Tensor"
                if tensors
                else "double"
                if any(_is_float(each) for each in values)
                else "int64_t"
            )
            variable = self._fresh()
            outside.append(f"{kind} {variable};")
            for (lines, _), value in zip(going, values, strict=True):
                lines.append(f"{variable} = {value.code if tensors else literal(value)};")
            scope.names[name] = (
                Tensor(variable) if tensors else Number(variable, "float" if kind == "double" else "int")
            )
        outside.append(f"if ({condition.code}) {{")
        outside += [f"    {line}" for line in ways[0][0]]
        if ways[1][0]:
            outside.append("} else {")
            outside += [f"    {line}" for line in ways[1][0]]
        outside.append("}")
        return Returned(ended=True) if not going else None

    def _for(self, node: ast.For, scope: Scope) -> Returned | None:
        rounds = self._value(node.iter, scope)
        if isinstance(rounds, Instance) and rounds.own is None:
            rounds = list(rounds.children.values())
        if not isinstance(rounds, (list, tuple, range)) or len(rounds) > _MOST_ROUNDS:
            raise Unreadable("a loop whose rounds are not known without running the file")
        for each in rounds:
            self._assign(node.target, each, scope)
            ended = self._block(node.body, scope)
            if ended is not None:
                return ended
        return self._block(node.orelse, scope)

    def _with(self, node: ast.With, scope: Scope) -> Returned | None:
        for item in node.items:
            value = self._value(item.context_expr, scope)
            if item.optional_vars is not None:
                self._assign(item.optional_vars, value, scope)
        return self._block(node.body, scope)

    def _assert(self, node: ast.Assert, scope: Scope) -> None:
        try:
            condition = self._value(node.test, scope)
        except Unreadable as error:
            if error.forbidden:
                raise
            return  # an assertion that holds changes nothing
        if self.running and isinstance(condition, (Number, bool)):
            self.lines.append(f'TORCH_CHECK({literal(condition)}, "an assertion of ModelNew does not hold");')

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        for each in node.names:
            if isinstance(node, ast.Import):
                path = each.name if each.asname else each.name.partition(".")[0]
                scope.set(each.asname or path, Named(path))
            else:
                scope.set(each.asname or each.name, _named(f"{node.module}.{each.name}"))

    def _class(self, node: ast.ClassDef, scope: Scope) -> PythonClass:
        inside = Scope(outer=scope)
        self._block(node.body, inside)
        return PythonClass(node.name, tuple(self._value(base, scope) for base in node.bases), inside.names)

    def _assign(self, target: ast.expr, value: Value, scope: Scope) -> None:
        match target:
            case ast.Name():
                scope.set(target.id, value)
            case ast.Tuple() | ast.List():
                if any(isinstance(each, ast.Starred) for each in target.elts):
                    raise Unreadable("an assignment with * is not understood")
                for each, part in zip(target.elts, self._parts(value, len(target.elts)), strict=True):
                    self._assign(each, part, scope)
            case ast.Attribute():
                owner = self._value(target.value, scope)
                if isinstance(owner, Instance):
                    _set_attribute(owner, target.attr, value)
                elif not isinstance(owner, Named):  # `ctx.x = …`, `F.x = …`
                    raise Unreadable(f"an attribute {target.attr} is set on what is no module")
            case ast.Subscript():
                owner, key = self._value(target.value, scope), self._value(target.slice, scope)
                if isinstance(owner, Tensor):
                    raise Unreadable("an assignment to a tensor's elements", forbidden=True)
                if not isinstance(owner, dict):
                    raise Unreadable("an assignment to an item is not understood")
                owner[key] = value
            case _:
                raise Unreadable("an assignment is not understood")

    def _parts(self, value: Value, count: int) -> list[Value]:
        if isinstance(value, Shape):
            return [Number(f"{value.tensor.code}.size({place})") for place in range(count)]
        if isinstance(value, Many):
            return [value.item(place) for place in range(count)]
        if isinstance(value, (list, tuple)) and len(value) == count:
            return list(value)
        raise Unreadable(f"{count} values are taken from what has not so many")

    # -- expressions -------------------------------------------------------------------------------

    def _value(self, node: ast.expr, scope: Scope) -> Value:
        self._step(node)
        try:
            return self._expression(node, scope)
        except Unreadable as error:
            raise _at(error, node) from None

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
                return binary(type(node.op), _known(left), _known(right))
            case ast.UnaryOp():
                operand = _known(self._value(node.operand, scope))
                if isinstance(node.op, ast.Not):
                    return negation(_truth(operand))
                if isinstance(node.op, ast.USub) and (is_number(operand) or isinstance(operand, Tensor)):
                    return negated(operand)
                raise Unreadable("an operator is not understood")
            case ast.BoolOp():
                values = [_truth(self._value(each, scope)) for each in node.values]
                return joined_conditions(isinstance(node.op, ast.And), values)
            case ast.Compare():
                return self._compare(node, scope)
            case ast.IfExp():
                condition = _truth(self._value(node.test, scope))
                if isinstance(condition, Number) and condition.value is None:
                    return chosen(condition, self._value(node.body, scope), self._value(node.orelse, scope))
                truth = condition.value if isinstance(condition, Number) else condition
                return self._value(node.body if truth else node.orelse, scope)
            case ast.List() | ast.Tuple():
                listed = self._listed(node.elts, scope)
                return listed if isinstance(node, ast.List) else tuple(listed)
            case ast.Dict():
                pairs = zip(node.keys, node.values, strict=True)
                return {
                    _plain(self._value(key, scope)): self._value(each, scope) for key, each in pairs if key
                }
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
        owner = _known(owner)
        if isinstance(owner, Named):
            path = f"{owner.path}.{name}"
            return dtype_named(path) or _named(path)
        if isinstance(owner, Instance):
            return self._member(owner, name)
        if isinstance(owner, PythonClass):
            if name == "apply" and owner.derives("Function"):
                return Method(owner, "apply")
            found = owner.find(name)
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

    def _member(self, owner: Instance, name: str) -> Value:
        for found in (owner.parameters.get(name), owner.buffers.get(name)):
            if found is not None:
                if not self.running:
                    return found
                return self.state[id(found)]
        if name in owner.children:
            return owner.children[name]
        if name in owner.values:
            return owner.values[name]
        found = owner.own.find(name) if owner.own else None
        if isinstance(found, PythonFunction):
            decorators = [ast.unparse(each) for each in getattr(found.node, "decorator_list", ())]
            if "property" in decorators:
                return self._run(PythonFunction(found.node, found.scope, owner, bound=True), [], {})
            if "staticmethod" in decorators:
                return found
            return PythonFunction(found.node, found.scope, owner, bound=True)
        if found is not None:
            return found
        if name == "training":
            return True  # as KernelBench calls its models
        if owner.own is None and name in ("weight", "bias"):
            return None
        return Method(owner, name)

    def _compare(self, node: ast.Compare, scope: Scope) -> Value:
        values = [_known(self._value(each, scope)) for each in (node.left, *node.comparators)]
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

    def _listed(self, nodes: Sequence[ast.expr], scope: Scope) -> list[Value]:
        listed: list[Value] = []
        for node in nodes:
            if not isinstance(node, ast.Starred):
                listed.append(self._value(node, scope))
                continue
            value = self._value(node.value, scope)
            if isinstance(value, Shape) and value.tensor.rank is not None:
                value = self._parts(value, value.tensor.rank)
            if not isinstance(value, (list, tuple)):
                raise Unreadable("* before what is no list is not understood")
            listed += value
        return listed

    def _formatted(self, node: ast.JoinedStr, scope: Scope) -> str:
        parts = []
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                value = _plain(self._value(each.value, scope))
                form = (
                    self._formatted(each.format_spec, scope)
                    if isinstance(each.format_spec, ast.JoinedStr)
                    else ""
                )
                bounded_format(f"{{:{form}}}")
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
        owner = _known(owner)
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
                return owner[_fixed(key)]
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
        if len(rounds) > _MOST_ROUNDS:
            raise Unreadable("a comprehension has too many rounds")
        inside, found = Scope(outer=scope), []
        for each in rounds:
            self._assign(generator.target, each, inside)
            found.append(self._value(node.elt, inside))
        return found

    # -- calls -------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, scope: Scope) -> Value:
        function = _known(self._value(node.func, scope))
        if isinstance(function, Named) and function.path == "builtins.super":
            return Named("super")
        if isinstance(function, Named) and function.path == "torch.nn.Parameter":
            return self._parameter(node, scope)
        values = self._listed(node.args, scope)
        named: dict[str, Value] = {}
        for each in node.keywords:
            value = self._value(each.value, scope)
            if each.arg is not None:
                named[each.arg] = value
            elif isinstance(value, dict):
                named.update(value)
            else:
                raise Unreadable("** before what is no dict is not understood")
        return self._kept(self.call(function, values, named))

    def _kept(self, value: Value) -> Value:
        """A tensor gets a name when it is made: used twice, it is still one tensor."""
        if not self.running or not isinstance(value, Tensor) or value.code.isidentifier():
            return value
        variable = self._fresh()
        self.lines.append(f"torch::Tensor {variable} = {value.code};")
        return Tensor(variable, value.rank)

    def _parameter(self, node: ast.Call, scope: Scope) -> Parameter:
        """Whatever it is made of, it is a parameter; its shape may not be known."""
        if self.running:
            raise Unreadable("a parameter is made in forward")
        try:
            first = self._value(node.args[0], scope) if node.args else None
        except Unreadable:
            first = None
        return Parameter(first.shape if isinstance(first, (Initial, Parameter)) else None)

    def call(self, function: Value, values: list[Value], named: dict[str, Value]) -> Value:
        """The result of a call with these arguments."""
        if isinstance(function, PythonFunction):
            return self._run(function, values, named)
        if isinstance(function, PythonClass):
            return self.instance(function, values, named)
        if isinstance(function, Instance):
            return self._call_module(function, values, named)
        if isinstance(function, Method):
            return self._call_method(function.owner, function.name, values, named)
        if isinstance(function, Named):
            return self._call_named(function.path, values, named)
        raise Unreadable(f"a {type(function).__name__} is called")

    def instance(self, kind: PythonClass, values: list[Value], named: dict[str, Value]) -> Instance:
        """A module of one of the file's classes."""
        if not kind.derives("Module"):
            raise Unreadable(f"{kind.name} is no nn.Module, and only those are understood")
        made = Instance(kind.name, kind)
        start = kind.find("__init__")
        if isinstance(start, PythonFunction):
            self._run(PythonFunction(start.node, start.scope, made, bound=True), values, named)
        return made

    def _run(self, function: PythonFunction, values: list[Value], named: dict[str, Value]) -> Value:
        if self._depth >= _MOST_DEPTH:
            raise Unreadable("functions call each other too deeply")
        scope = Scope(outer=function.scope)
        given = [function.owner, *values] if function.bound else values
        self._bind(function, given, named, scope)
        self._depth += 1
        try:
            if isinstance(function.node, ast.Lambda):
                return self._value(function.node.body, scope)
            ended = self._block(function.node.body, scope)
        finally:
            self._depth -= 1
        return None if ended is None else ended.value

    def _bind(
        self, function: PythonFunction, values: list[Value], named: dict[str, Value], scope: Scope
    ) -> None:
        described = function.node.args
        names = [each.arg for each in (*described.posonlyargs, *described.args)]
        title = getattr(function.node, "name", "a lambda")
        defaults = dict(zip(names[len(names) - len(described.defaults) :], described.defaults, strict=True))
        defaults.update(
            {
                each.arg: node
                for each, node in zip(described.kwonlyargs, described.kw_defaults, strict=True)
                if node
            }
        )
        bound: dict[str, Value] = dict(zip(names, values, strict=False))
        if described.vararg:
            bound[described.vararg.arg] = tuple(values[len(names) :])
        elif len(values) > len(names):
            raise Unreadable(f"{title} takes {len(names)} arguments, not {len(values)}")
        names += [each.arg for each in described.kwonlyargs]
        more = {name: value for name, value in named.items() if name not in names}
        bound.update({name: value for name, value in named.items() if name in names})
        if described.kwarg:
            bound[described.kwarg.arg] = more
        elif more:
            raise Unreadable(f"{title} has no argument {next(iter(more))}")
        for name in names:
            if name not in bound:
                if name not in defaults:
                    raise Unreadable(f"{title}: the argument {name} is not given")
                bound[name] = self._value(defaults[name], function.scope)
        scope.names.update(bound)

    def _call_module(self, module: Instance, values: list[Value], named: dict[str, Value]) -> Value:
        if module.own is not None:
            forward = module.own.find("forward")
            if isinstance(forward, PythonFunction):
                return self._run(
                    PythonFunction(forward.node, forward.scope, module, bound=True), values, named
                )
        if module.kind == "Identity" and values:
            return values[0]
        if module.kind == "Sequential" and len(values) == 1:
            for child in module.children.values():
                values = [self._call_module(child, values, {})]
            return values[0]
        raise Unreadable(f"nn.{module.kind}", forbidden=True)

    def _call_method(self, owner: Value, name: str, values: list[Value], named: dict[str, Value]) -> Value:
        if isinstance(owner, Extension):
            return self._call_extension(owner, name, values, named)
        if isinstance(owner, Tensor):
            return call_tensor(owner, name, [_known(each) for each in values], named)
        if isinstance(owner, PythonClass):  # an autograd function
            forward = owner.find("forward")
            if not isinstance(forward, PythonFunction):
                raise Unreadable(f"{owner.name} has no forward")
            return self._run(forward, [Named("context"), *values], named)
        if isinstance(owner, Instance):
            return self._call_instance(owner, name, values)
        if isinstance(owner, Shape) and name == "numel":
            return Number(f"{owner.tensor.code}.numel()")
        if isinstance(owner, Initial):
            return Initial(
                owner.shape if name in ("cuda", "to", "float", "half", "contiguous", "clone") else None
            )
        if isinstance(owner, Template) and name in ("substitute", "safe_substitute"):
            pairs = {**(values[0] if values and isinstance(values[0], dict) else {}), **named}
            bounded_insertion(owner.template, pairs.values())
            try:
                return owner.safe_substitute({key: _plain(each) for key, each in pairs.items()})
            except ValueError as error:
                raise Unreadable(f"a template: {error}") from None
        if isinstance(owner, str) and name in _STRING_METHODS:
            return _string_method(owner, name, [_plain(each) for each in values], named)
        if isinstance(owner, dict) and name in ("get", "items", "values", "keys"):
            return owner.get(*values) if name == "get" else list(getattr(owner, name)())
        if isinstance(owner, list) and name == "append" and len(values) == 1:
            owner.append(values[0])
            return None
        raise Unreadable(f"the method {name} of a {type(owner).__name__} is not understood")

    def _call_instance(self, owner: Instance, name: str, values: list[Value]) -> Value:
        if name == "register_buffer" and len(values) >= 2:
            owner.buffers[str(values[0])] = Parameter(getattr(values[1], "shape", None))
            return None
        if name == "register_parameter" and len(values) == 2:
            _set_attribute(owner, str(values[0]), values[1])
            return None
        if name in ("state_dict", "named_parameters", "parameters", "buffers"):
            found = owner.state()
            if name == "parameters":
                listed = [each for each in found.values() if id(each) in _parameter_ids(owner)]
                return [self.state[id(each)] for each in listed]
            return {key: self.state[id(each)] for key, each in found.items()}
        if name in (
            "eval",
            "train",
            "cuda",
            "to",
            "float",
            "half",
            "requires_grad_",
            "apply",
            "reset_parameters",
        ):
            return owner
        raise Unreadable(f"the method {name} of {owner.kind} is not understood")

    def _call_extension(
        self, extension: Extension, name: str, values: list[Value], named: dict[str, Value]
    ) -> Value:
        """A call in C++, in the order in which Python makes it."""
        if not self.running:
            raise Unreadable("an extension is called before forward")
        bound = extension.function(name)
        declared = extension.declared.get(bound.code.rpartition("::")[2])
        names = [each for each, _ in bound.arguments] or (list(declared.parameters) if declared else [])
        defaults = dict(bound.arguments)
        codes = [self._passed(_known(each)) for each in values]
        for each in names[len(values) :]:
            if each in named:
                codes.append(self._passed(_known(named.pop(each))))
            elif defaults.get(each) is not None:
                codes.append(str(defaults[each]))
            elif named:
                raise Unreadable(f"{name}: the argument {each} is not given")
        if named:
            raise Unreadable(f"{name} has no argument {next(iter(named))}")
        if not any(each is extension for each in self.extensions):
            self.extensions.append(extension)
        place = next(i for i, each in enumerate(self.extensions) if each is extension)
        call = f"@{place}@{bound.code}({', '.join(codes)})"
        result = declared.result if declared else "auto"
        if "void" in result.split():
            self.lines.append(f"{call};")
            return None
        variable = self._fresh()
        self.lines.append(f"auto {variable} = {call};")
        return _result(variable, result)

    def _passed(self, value: Value) -> str:
        """An argument for C++. Tensors get a name, since a function may take a reference."""
        if isinstance(value, Tensor):
            return str(self._kept(value).code)
        if value is None:
            return "c10::nullopt"
        if isinstance(value, Dtype):
            return value.code
        if isinstance(value, Shape):
            return f"{value.tensor.code}.sizes().vec()"
        if isinstance(value, Many):
            return value.code
        if isinstance(value, (list, tuple)):
            return "{" + ", ".join(self._passed(_known(each)) for each in value) + "}"
        return literal(value)

    def _fresh(self) -> str:
        self._names += 1
        return f"model_value{self._names}"

    def _call_named(self, path: str, values: list[Value], named: dict[str, Value]) -> Value:
        if path.endswith("load_inline"):
            return read_load_inline(values, named)
        if path.startswith("torch.utils.cpp_extension."):
            raise Unreadable(f"{path.rpartition('.')[2]} reads other files; give the sources to load_inline")
        package, _, name = path.rpartition(".")
        if package in ("super", "context"):
            return None
        if package == "builtins":
            return self._builtin(name, values)
        if package == "math":
            return mathematical(name, [_known(each) for each in values])
        if path in ("textwrap.dedent", "inspect.cleandoc") and values and isinstance(values[0], str):
            return textwrap.dedent(values[0])
        if path == "string.Template" and values and isinstance(values[0], str):
            return Template(values[0])
        if package == "torch.nn" and name[:1].isupper():
            return make_module(name, values, named)
        if path.startswith("torch."):
            return call_torch(path, [_known(each) for each in values], named, running=self.running)
        raise Unreadable(f"{path} cannot be read without running the file")

    def _builtin(self, name: str, values: list[Value]) -> Value:
        first = _known(values[0]) if values else None
        if name in ("int", "float", "bool"):
            return converted(name, first)
        if name in ("max", "min"):
            return extreme(
                name, list(first) if isinstance(first, (list, tuple)) else [_known(each) for each in values]
            )
        if name == "len":
            if isinstance(first, Shape):
                return Number(f"{first.tensor.code}.dim()", "int", first.tensor.rank)
            if isinstance(first, (str, list, tuple, dict, range)):
                return len(first)
        if name == "range":
            bounds = [_fixed(each) for each in values]
            if bounds and all(isinstance(each, int) for each in bounds):
                return range(*bounds)
        if name in ("list", "tuple") and isinstance(first, (list, tuple, range)):
            return list(first) if name == "list" else tuple(first)
        if name in ("list", "tuple") and isinstance(first, Shape) and first.tensor.rank is not None:
            return self._parts(first, first.tensor.rank)
        if name == "str" and isinstance(_plain(first), (str, int, float)):
            return str(_plain(first))
        if name == "isinstance" and len(values) == 2:
            return _is_instance(first, values[1])
        if name == "enumerate" and isinstance(first, (list, tuple)):
            return list(enumerate(first))
        if name == "zip" and all(isinstance(each, (list, tuple)) for each in values):
            return list(zip(*values, strict=False))
        if name == "abs" and isinstance(first, (int, float)):
            return abs(first)
        if name in ("getattr", "hasattr") and len(values) >= 2 and isinstance(first, Instance):
            found = self._member(first, str(values[1]))
            missing = isinstance(found, Method)
            if name == "hasattr":
                return not missing
            return values[2] if missing and len(values) > 2 else found
        if name == "print":
            return None
        raise Unreadable(
            f"{name}(…) is not understood here",
            forbidden=isinstance(first, Tensor) and name in ("sum", "abs"),
        )


def _known(value: Value) -> Value:
    """The value, unless it could not be read when it was made."""
    if isinstance(value, Unknown):
        raise Unreadable(value.reason, line=value.line, forbidden=value.forbidden)
    return value


def _truth(value: Value) -> Value:
    value = _known(value)
    if isinstance(value, Tensor):
        return True  # `if bias is not None` is asked for as `if bias`
    if isinstance(
        value, (Instance, Extension, Shape, Many, Dtype, Device, PythonFunction, Parameter, Initial)
    ):
        return True
    return value


def _plain(value: Value) -> Value:
    """A number that is known by its value."""
    value = _known(value)
    if isinstance(value, Number):
        raise Unreadable("a text depends on a size that changes from case to case")
    return value


def _fixed(value: Value) -> Value:
    """A number by the value that the problem's own sizes give it."""
    return value.value if isinstance(value, Number) else value


def _at(error: Unreadable, node: ast.AST) -> Unreadable:
    if not error.line:
        error.line = getattr(node, "lineno", 0)
    return error


def _load(target: ast.expr) -> ast.expr:
    """The target of an assignment, to be read."""
    return ast.parse(ast.unparse(target), mode="eval").body


def _named(path: str) -> Named:
    return Named(_ALIASES.get(path, path))


def _is_float(value: Value) -> bool:
    return isinstance(value, float) or (isinstance(value, Number) and value.kind == "float")


def _is_instance(value: Value, kind: Value) -> Value:
    if isinstance(kind, Named) and kind.path == "torch.Tensor":
        return isinstance(value, Tensor)
    if isinstance(kind, Named) and kind.path in (
        "builtins.int",
        "builtins.float",
        "builtins.tuple",
        "builtins.list",
    ):
        names: dict[str, tuple[type, ...]] = {
            "int": (int, Number),
            "float": (float,),
            "tuple": (tuple,),
            "list": (list,),
        }
        return isinstance(value, names[kind.path.rpartition(".")[2]])
    raise Unreadable("isinstance(…) is not understood here")


def _parameter_ids(owner: Instance) -> set[int]:
    found = {id(each) for each in owner.parameters.values()}
    for child in owner.children.values():
        found |= _parameter_ids(child)
    return found


def _set_attribute(owner: Instance, name: str, value: Value) -> None:
    for held in (owner.parameters, owner.buffers, owner.children, owner.values):
        held.pop(name, None)
    if isinstance(value, Parameter):
        owner.parameters[name] = value
    elif isinstance(value, Instance):
        owner.children[name] = value
    elif isinstance(value, Initial):
        owner.values[name] = Unknown(f"self.{name} is a tensor that __init__ makes and that is no parameter")
    else:
        owner.values[name] = value


def _string_method(owner: str, name: str, values: list[Value], named: dict[str, Value]) -> Value:
    if not all(
        isinstance(each, (str, int, float, list, tuple, type(None))) for each in (*values, *named.values())
    ):
        raise Unreadable(f"the method {name} of a text gets what cannot be read without running the file")
    if name == "format":
        bounded_format(owner)
        bounded_insertion(owner, [*values, *named.values()])
    if (
        name == "join"
        and len(owner) * sum(isinstance(each, list) and len(each) for each in values) > MOST_LETTERS
    ):
        raise Unreadable("a text is too long")
    if name == "replace" and len(values) >= 2 and isinstance(values[0], str):
        longest = owner.count(values[0]) * max(1, len(str(values[1]))) + len(owner)
        if longest > MOST_LETTERS:
            raise Unreadable("a text is too long")
    try:
        return getattr(owner, name)(*values, **named)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise Unreadable(f"the method {name} of a text: {error!r}") from None


def _result(variable: str, declared: str) -> Value:
    """What a C++ function gives, by its declared type."""
    if "vector" in declared or "array" in declared:
        return Many(variable, "vector")
    if "tuple" in declared or "pair" in declared:
        return Many(variable, "tuple")
    words = declared.replace("&", " ").split()
    if words and words[-1] in ("int", "int64_t", "long", "size_t", "float", "double", "bool"):
        last = words[-1]
        return Number(
            variable, "float" if last in ("float", "double") else "bool" if last == "bool" else "int"
        )
    return Tensor(variable)
