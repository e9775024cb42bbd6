"""Calls: of the file's own functions and modules, of an extension, and of what libraries offer."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping, Sequence
from string import Template

from evoengineer.kernel.inline.arithmetic import (
    MOST_LETTERS,
    bounded_format,
    bounded_insertion,
    braces_of,
    converted,
    extreme,
    literal,
    mathematical,
)
from evoengineer.kernel.inline.extension import POSITIONAL, READ_ARGUMENTS, Extension, read_load_inline
from evoengineer.kernel.inline.modules import make_module
from evoengineer.kernel.inline.reading import Reader, fixed, known, plain
from evoengineer.kernel.inline.torch_names import call_tensor, call_torch
from evoengineer.kernel.inline.values import (
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
    decorators_of,
)

_MOST_DEPTH = 40
_STRING_METHODS = (
    *("strip", "lstrip", "rstrip", "replace", "format", "join", "upper", "lower", "split", "splitlines"),
    *("removeprefix", "removesuffix", "startswith", "endswith", "encode"),
)


class Calls(Reader):
    """What calls give: functions of the file, extensions, and what is known of libraries."""

    def _call(self, node: ast.Call, scope: Scope) -> Value:
        function = known(self._value(node.func, scope))
        if isinstance(function, Named) and function.path == "builtins.super":
            return Named("super")
        if isinstance(function, Named) and function.path == "torch.nn.Parameter":
            return self._parameter(node, scope)
        if isinstance(function, Named) and function.path.endswith("load_inline"):
            return self._extension(node, scope)
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

    def _extension(self, node: ast.Call, scope: Scope) -> Extension:
        """What only says how and where to build, a name made of a hash for one, may be anything."""
        given = [
            *zip(POSITIONAL, node.args, strict=False),
            *((each.arg, each.value) for each in node.keywords),
        ]
        named: dict[str, Value] = {}
        for argument, value in given:
            if argument in READ_ARGUMENTS:
                named[argument] = self._value(value, scope)
            elif argument is None and isinstance(more := self._value(value, scope), dict):
                named.update(more)
            elif argument is None or isinstance(value, ast.Starred):
                raise Unreadable("load_inline: * or ** before what is no dict is not understood")
        return read_load_inline(named)

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
            return call_tensor(owner, name, [known(each) for each in values], named)
        if isinstance(owner, PythonClass):  # an autograd function
            forward = owner.find("forward")
            if not isinstance(forward, PythonFunction):
                raise Unreadable(f"{owner.name} has no forward")
            return self._run(forward, [Named("context"), *values], named)
        if isinstance(owner, Instance):
            return self._call_instance(owner, name, values, named)
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
                return owner.safe_substitute({key: plain(each) for key, each in pairs.items()})
            except ValueError as error:
                raise Unreadable(f"a template: {error}") from None
        if isinstance(owner, str) and name in _STRING_METHODS:
            return _string_method(owner, name, [plain(each) for each in values], named)
        if isinstance(owner, dict) and name in ("get", "items", "values", "keys"):
            return owner.get(*values) if name == "get" else list(getattr(owner, name)())
        if isinstance(owner, list) and name == "append" and len(values) == 1:
            owner.append(values[0])
            return None
        raise Unreadable(f"the method {name} of a {type(owner).__name__} is not understood")

    def _call_instance(
        self, owner: Instance, name: str, values: list[Value], named: Mapping[str, Value]
    ) -> Value:
        if name == "register_buffer" and named.get("persistent") is False and values:
            owner.values[str(values[0])] = Unknown(f"the buffer {values[0]} is not in the state_dict")
            return None
        if name == "register_buffer" and len(values) >= 2:
            owner.buffers[str(values[0])] = Parameter(getattr(values[1], "shape", None))
            return None
        if name == "register_parameter" and len(values) == 2:
            set_attribute(owner, str(values[0]), values[1])
            return None
        if name in ("state_dict", "named_parameters", "parameters", "buffers"):
            found = owner.state()
            if name == "parameters":
                listed = [each for each in found.values() if id(each) in _parameter_ids(owner)]
                return [self._argument(each) for each in listed]
            return {key: self._argument(each) for key, each in found.items()}
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
        codes = [self._passed(known(each)) for each in values]
        for each in names[len(values) :]:
            if each in named:
                codes.append(self._passed(known(named.pop(each))))
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
            return "{" + ", ".join(self._passed(known(each)) for each in value) + "}"
        return literal(value)

    def _call_named(self, path: str, values: list[Value], named: dict[str, Value]) -> Value:
        if path.startswith("torch.utils.cpp_extension."):
            raise Unreadable(f"{path.rpartition('.')[2]} reads other files; give the sources to load_inline")
        package, _, name = path.rpartition(".")
        if package in ("super", "context"):
            return None
        if package == "builtins":
            return self._builtin(name, values)
        if package == "math":
            return mathematical(name, [known(each) for each in values])
        if path in ("textwrap.dedent", "inspect.cleandoc") and values and isinstance(values[0], str):
            return textwrap.dedent(values[0])
        if path == "string.Template" and values and isinstance(values[0], str):
            return Template(values[0])
        if package == "torch.nn" and name[:1].isupper():
            return make_module(name, values, named)
        if path.startswith("torch."):
            return call_torch(path, [known(each) for each in values], named, running=self.running)
        raise Unreadable(f"{path} cannot be read without running the file")

    def _builtin(self, name: str, values: list[Value]) -> Value:
        first = known(values[0]) if values else None
        if name in ("int", "float", "bool"):
            return converted(name, first)
        if name in ("max", "min"):
            return extreme(
                name, list(first) if isinstance(first, (list, tuple)) else [known(each) for each in values]
            )
        if name == "len":
            if isinstance(first, Shape):
                return Number(f"{first.tensor.code}.dim()", "int", first.tensor.rank)
            if isinstance(first, (str, list, tuple, dict, range)):
                return len(first)
        if name == "range":
            bounds = [fixed(each) for each in values]
            if bounds and all(isinstance(each, int) for each in bounds):
                return range(*bounds)
        if name in ("list", "tuple") and isinstance(first, (list, tuple, range)):
            return list(first) if name == "list" else tuple(first)
        if name in ("list", "tuple") and isinstance(first, Shape) and first.tensor.rank is not None:
            return self._parts(first, first.tensor.rank)
        if name == "str" and isinstance(plain(first), (str, int, float)):
            return str(plain(first))
        if name == "isinstance" and len(values) == 2:
            return _is_instance(first, values[1])
        if name == "enumerate" and isinstance(first, (list, tuple)):
            return list(enumerate(first))
        if name == "zip" and all(isinstance(each, (list, tuple)) for each in values):
            return list(zip(*values, strict=False))
        if name == "abs" and isinstance(first, (int, float)):
            return abs(first)
        if name == "getattr" and len(values) == 2 and isinstance(first, Extension):
            return Method(first, str(values[1]))
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

    def _member(self, owner: Instance, name: str) -> Value:
        for found in (owner.parameters.get(name), owner.buffers.get(name)):
            if found is not None:
                if not self.running:
                    return found
                return self._argument(found)
        if name in owner.children:
            return owner.children[name]
        if name in owner.values:
            return owner.values[name]
        found = owner.own.find(name) if owner.own else None
        if isinstance(found, PythonFunction):
            decorators = decorators_of(found)
            if "property" in decorators:
                return self._run(PythonFunction(found.node, found.scope, owner, bound=True), [], {})
            if "staticmethod" in decorators:
                return found
            if "classmethod" in decorators:
                return PythonFunction(found.node, found.scope, owner.own, bound=True)
            return PythonFunction(found.node, found.scope, owner, bound=True)
        if found is not None:
            return found
        if name == "training":
            return True  # as KernelBench calls its models
        if owner.own is None and name in ("weight", "bias"):
            return None
        return Method(owner, name)

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


def set_attribute(owner: Instance, name: str, value: Value) -> None:
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
        bounded_format(braces_of(owner))
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
