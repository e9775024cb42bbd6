"""The field's other form of a kernel: a Python file with `ModelNew` and `load_inline(…)`.

    text = in_one_file(source, signature)      one kernel text, or Unreadable with the reason

The file is read, not run: strings, constants and simple expressions by `interpreter.py`; `ModelNew.__init__` for
parameters and numbers; `ModelNew.forward` becomes a C++ function that takes the problem's arguments in their order,
calls the extension's functions, and is bound as `forward`. What computes with PyTorch itself is forbidden there as it
is in C++.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evoengineer.kernel.inline.arithmetic import literal
from evoengineer.kernel.inline.extension import namespace, one_text
from evoengineer.kernel.inline.interpreter import Interpreter
from evoengineer.kernel.inline.syntax import parse_python
from evoengineer.kernel.inline.values import (
    Argument,
    Instance,
    Number,
    Parameter,
    PythonClass,
    PythonFunction,
    Signature,
    Tensor,
    Unreadable,
    Value,
)

__all__ = ["Argument", "Signature", "Unreadable", "in_one_file", "is_inline", "signature_of"]

_ENTRY = "model_forward"
_TYPES = {"tensor": "torch::Tensor", "int": "int64_t", "float": "double", "bool": "bool"}
_COMMENTS = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)  # of C++: what they quote is no sign
_SIGNS = re.compile(r"^(?:(?:from|import)[ \t]+\w|[ \t]*class[ \t]+ModelNew\b[^;{\n]*:)", re.MULTILINE)
_MEANT = re.compile(r"\bload_inline\b|\bclass[ \t]+ModelNew\b")
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*include\b", re.MULTILINE)
_HINT = "library operations are not available: write it as a CUDA kernel"
_MOST_BYTES = 1 << 20


def is_inline(source: str) -> bool:
    """Whether a text is meant as such a file, rather than as a kernel in C++."""
    if not _MEANT.search(source):
        return False
    code = _COMMENTS.sub("", source)
    first, directive = _SIGNS.search(code), _DIRECTIVE.search(code)
    return first is not None and (directive is None or first.start() < directive.start())


def signature_of(arguments: Iterable[Mapping[str, Any]], reference: str) -> Signature:
    """Of a problem, from its description's arguments and the reference's text."""
    return Signature(
        tuple(
            Argument(str(each["name"]), str(each["kind"]), len(each["shape"]) if "shape" in each else None)
            for each in arguments
        ),
        reference,
    )


def in_one_file(source: str, signature: Signature) -> str:
    """The kernel's text; raises Unreadable."""
    try:
        return _Reading(_parsed(source), signature).text()
    except Unreadable as error:
        if error.forbidden and _HINT not in error.reason:
            raise Unreadable(f"{error.reason}: {_HINT}", line=error.line, forbidden=True) from None
        raise
    except RecursionError:
        raise Unreadable("the file is nested too deeply to be read") from None


def _parsed(source: str) -> ast.Module:
    if len(source) > _MOST_BYTES:
        raise Unreadable(f"the file has more than {_MOST_BYTES} characters")
    try:
        return parse_python(source)
    except SyntaxError as error:
        raise Unreadable(f"the file is no Python: {error.msg}", line=error.lineno or 0) from None


class _Reading:
    """One file on its way to a text."""

    def __init__(self, tree: ast.Module, signature: Signature) -> None:
        self._python, self._signature = Interpreter(), signature
        self._python.run_module(tree)
        self._sizes: dict[str, Number] = {}  # of numbers that __init__ gets, by their names in C++

    def text(self) -> str:
        kind = self._python.module.names.get("ModelNew")
        if not isinstance(kind, PythonClass):
            raise Unreadable("there is no class ModelNew in the file")
        forward = kind.find("forward")
        if not isinstance(forward, PythonFunction):
            raise Unreadable("ModelNew has no forward")
        model = self._model(kind)
        inputs, state = self._split(model, forward)
        self._python.state = {id(each): Tensor(_place(place), rank) for each, place, rank in state}
        values: list[Value] = [self._input(place) for place in inputs]
        self._python.running = True
        self._python.call(PythonFunction(forward.node, forward.scope, model, bound=True), values, {})
        if not self._python.results:
            raise Unreadable("ModelNew.forward returns nothing")
        if not self._python.extensions:
            raise Unreadable("ModelNew.forward calls no function of a load_inline extension")
        sources = "".join(each.source for each in self._python.extensions)
        entry = next(name for name in _entries() if name not in sources)
        return one_text(self._python.extensions, self._wrapper(state, entry), entry)

    # -- the model ---------------------------------------------------------------------------------

    def _model(self, kind: PythonClass) -> Instance:
        start = kind.find("__init__")
        values, named = self._initial_values() if isinstance(start, PythonFunction) else ([], {})
        if isinstance(start, PythonFunction):
            names = [each.arg for each in start.node.args.args][1:]
            if not start.node.args.vararg:
                values = values[: len(names)]
            titles = [*names, *(f"more{place}" for place in range(len(values)))]
            values = [self._initial(title, value) for title, value in zip(titles, values, strict=False)]
            named = {title: self._initial(title, value) for title, value in named.items()}
        return self._python.instance(kind, values, named)

    def _initial(self, name: str, value: Value) -> Value:
        """A whole number may change from case to case, so forward takes it from a parameter's shape if it can."""
        if isinstance(value, int) and not isinstance(value, bool):
            number = Number(f"model_init_{name}", "int", value)
            self._sizes[number.code] = number
            return number
        return value

    def _initial_values(self) -> tuple[list[Value], dict[str, Value]]:
        """What get_init_inputs gives, the problem's or else the file's own."""
        reference = Interpreter()
        try:
            reference.run_module(_parsed(self._signature.reference))
        except Unreadable:
            reference = Interpreter()
        for python in (reference, self._python):
            function = python.module.names.get("get_init_inputs")
            if isinstance(function, PythonFunction):
                given = python.call(function, [], {})
                if isinstance(given, (list, tuple)):
                    if len(given) == 2 and isinstance(given[0], list) and isinstance(given[1], dict):
                        return list(given[0]), dict(given[1])
                    return list(given), {}
        return [], {}

    def _split(
        self, model: Instance, forward: PythonFunction
    ) -> tuple[list[int], list[tuple[Parameter, int, int | None]]]:
        """Places of forward's inputs among the problem's arguments, and each parameter with its place and rank."""
        names = [each.name for each in self._signature.arguments]
        state = model.state()
        described = forward.node.args
        takes = len(described.args) + len(described.posonlyargs) - 1
        flat = [name.replace(".", "_") for name in state]
        rest = names[takes:]
        places = [_find(name, names, takes) for name in flat]
        if described.vararg is None and flat and all(place is not None for place in places):
            return list(range(takes)), self._ranked(zip(state.values(), places, strict=True))
        count = len(names) - len(state)
        if described.vararg is not None and count >= 0:
            least, most = takes, len(names)
        else:
            least, most = takes - len(described.defaults), takes
        if not least <= count <= most:
            trouble = f" ({self._python.troubles[0]})" if self._python.troubles else ""
            raise Unreadable(
                f"ModelNew.forward takes {takes} inputs and ModelNew holds {len(state)} parameters "
                f"({', '.join(state) or 'none'}), but the problem gives {', '.join(names[:takes]) or 'no inputs'} and "
                f"{', '.join(rest) or 'no parameters'}{trouble}"
            )
        return list(range(count)), self._ranked(zip(state.values(), range(count, len(names)), strict=True))

    def _ranked(
        self, pairs: Iterable[tuple[Parameter, int | None]]
    ) -> list[tuple[Parameter, int, int | None]]:
        return [
            (each, place, self._signature.arguments[place].rank) for each, place in pairs if place is not None
        ]

    def _input(self, place: int) -> Value:
        argument = self._signature.arguments[place]
        if argument.kind == "tensor":
            return Tensor(_place(place), argument.rank)
        if argument.kind in _TYPES:
            return Number(_place(place), argument.kind)
        raise Unreadable(f"the problem's argument {argument.name} is a {argument.kind}")

    # -- the function ------------------------------------------------------------------------------

    def _wrapper(self, state: list[tuple[Parameter, int, int | None]], entry: str) -> str:
        python = self._python
        body = [*self._declared_sizes(state), *python.lines]
        several = len(python.extensions) > 1
        for place in range(len(python.extensions)):
            body = [line.replace(f"@{place}@", f"{namespace(place)}::" if several else "") for line in body]
        kinds = python.results
        if len(kinds) > 1:
            raise Unreadable("ModelNew.forward returns a tensor on one way and several on another")
        result = next(iter(kinds)).partition(" ")[0]
        parameters = ", ".join(
            f"{_TYPES.get(each.kind, 'torch::Tensor')} {_place(place)}"
            for place, each in enumerate(self._signature.arguments)
        )
        inside = "\n".join(f"    {line}" for line in body)
        return f"{result} {entry}({parameters}) {{\n{inside}\n}}\n"

    def _declared_sizes(self, state: list[tuple[Parameter, int, int | None]]) -> list[str]:
        """The numbers of __init__ that forward uses, from the shape of a parameter where one has them."""
        used = "\n".join(self._python.lines)
        lines = []
        for code, number in self._sizes.items():
            if re.search(rf"\b{code}\b", used):
                lines.append(f"const int64_t {code} = {_size_of(number, state) or literal(number.value)};")
        return lines


def _entries() -> Iterator[str]:
    """Names for the function: a text that was made here before has one of them already."""
    yield _ENTRY
    yield from (f"{_ENTRY}{count}" for count in itertools.count(2))


def _size_of(number: Number, state: list[tuple[Parameter, int, int | None]]) -> str:
    for parameter, place, rank in state:
        for dimension, size in enumerate(parameter.shape or ()):
            if isinstance(size, Number) and size.code == number.code and rank == len(parameter.shape or ()):
                return f"{_place(place)}.size({dimension})"
    return ""


def _find(name: str, names: list[str], start: int) -> int | None:
    """Where the problem has a parameter of that name, after its inputs."""
    for wanted in (name, f"{name}_state"):
        if wanted in names[start:]:
            return names.index(wanted, start)
    return None


def _place(place: int) -> str:
    return f"model_argument{place}"
