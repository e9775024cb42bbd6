"""What the host function's variables are for the sizes that count: tensor shapes and numbers followed through
its assignments. A name whose value does not follow by plain arithmetic is left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from tree_sitter import Node

from evoengineer.propose.syntax.arithmetic import value_of
from evoengineer.propose.syntax.kernels import Launch
from evoengineer.propose.syntax.tree import NotUnderstood, field, is_call_of, named, text, walk

_TENSOR = re.compile(r"tensor \[(?P<shape>[\d, ]*)\]$")
_NUMBER = re.compile(r": int (?P<value>-?\d+)$")


def host_values(launch: Launch, arguments: Sequence[str]) -> dict[str, int]:
    """Values of expressions such as `n`, `s.kernel`, `x.size(1)` in the function that launches; `arguments` are
    described like `x: float32 tensor [8, 16]` and `stride: int 2`, in the order of the function's parameters."""
    root = launch.statement
    while root.parent is not None:
        root = root.parent
    values = constants(root)
    return values | _values_in(_function(launch.statement), arguments, values, frozenset())


def constants(root: Node) -> dict[str, int]:
    """Numbers that a text names for all of its functions."""
    values: dict[str, int] = {}
    for node in root.named_children:
        if node.type == "preproc_def" and node.child_by_field_name("value") is not None:
            try:
                values[text(field(node, "name"))] = value_of(text(field(node, "value")), values)
            except NotUnderstood:
                continue
        elif node.type == "declaration" and any(
            text(each) in ("const", "constexpr") for each in node.children
        ):
            for each in named(node):
                if each.type == "init_declarator":
                    _assign(values, field(each, "declarator"), field(each, "value"))
    return values


def _values_in(
    function: Node | None, arguments: Sequence[str], known: Mapping[str, int], called: frozenset[str]
) -> dict[str, int]:
    """Of a function: the problem's own, or one that another function of the text calls at one place."""
    if function is None:
        return {}
    try:
        declarator = field(function, "declarator")
        name, parameters = text(field(declarator, "declarator")), named(field(declarator, "parameters"))
    except NotUnderstood:
        return {}
    calls = [] if name in called else list(_calls(function, name))
    if len(calls) == 1:
        outer = _values_in(_function(calls[0]), arguments, known, called | {name})
        values = {**known, **_passed(calls[0], parameters, outer)}
    else:
        values = {**known, **_described(parameters, arguments)}
    for node in walk(field(function, "body")):
        if node.type == "init_declarator":
            _assign(values, field(node, "declarator"), field(node, "value"))
        elif node.type == "assignment_expression":
            _assign(values, field(node, "left"), field(node, "right"))
    return values


def _function(node: Node) -> Node | None:
    """The function around a node."""
    around: Node | None = node
    while around is not None and around.type != "function_definition":
        around = around.parent
    return around


def _calls(function: Node, name: str) -> Iterator[Node]:
    root = function
    while root.parent is not None:
        root = root.parent
    for node in walk(root):
        if is_call_of(node, name) and not any(each.type == "kernel_call_syntax" for each in node.children):
            yield node


def _name(parameter: Node) -> str:
    return next((text(each) for each in walk(parameter) if each.type == "identifier"), "")


def _passed(call: Node, parameters: Sequence[Node], known: dict[str, int]) -> dict[str, int]:
    """What a call gives to a function's parameters: numbers, and all that is known of tensors."""
    values: dict[str, int] = {}
    for parameter, argument in zip(parameters, named(field(call, "arguments")), strict=False):
        name, written = _name(parameter), text(argument)
        try:
            values[name] = value_of(written, known)
        except NotUnderstood:
            prefix = f"{written}."
            values |= {
                f"{name}.{key.removeprefix(prefix)}": value
                for key, value in known.items()
                if key.startswith(prefix)
            }
    return values


def _described(parameters: Sequence[Node], arguments: Sequence[str]) -> dict[str, int]:
    """What prompts say of the problem's arguments."""
    values: dict[str, int] = {}
    for parameter, argument in zip(parameters, arguments, strict=False):
        name = _name(parameter)
        tensor, number = _TENSOR.search(argument), _NUMBER.search(argument)
        if tensor is not None:
            shape = [int(size) for size in tensor["shape"].split(",") if size.strip()]
            values[f"{name}.numel()"] = math.prod(shape)
            values[f"{name}.dim()"] = len(shape)
            for place, size in enumerate(shape):
                values[f"{name}.size({place})"] = values[f"{name}.size({place - len(shape)})"] = size
        elif number is not None:
            values[name] = int(number["value"])
    return values


def _assign(values: dict[str, int], target: Node, value: Node) -> None:
    name = text(target)
    while value.type == "assignment_expression":
        value = field(value, "right")
    if _is_new_tensor(values, name, value):
        return
    try:
        values[name] = value_of(text(value), values)
    except NotUnderstood:
        values.pop(name, None)


def _is_new_tensor(values: dict[str, int], name: str, value: Node) -> bool:
    """`y = torch::empty({a, b}, …)`, `y = torch::empty_like(x)`, `x = x.contiguous()`."""
    like = re.match(r"(?:torch|at)::empty_like\((\w+)", text(value)) or re.match(
        r"(\w+)\.contiguous\(\)$", text(value)
    )
    if like is not None:
        for key in [key for key in values if key.startswith(f"{like[1]}.")]:
            values[f"{name}.{key.partition('.')[2]}"] = values[key]
        return True
    if not re.match(r"(?:torch|at)::(?:empty|zeros)\(", text(value)):
        return False
    sizes = next((each for each in walk(value) if each.type == "initializer_list"), None)
    try:
        shape = [value_of(text(each), values) for each in named(sizes)] if sizes is not None else []
    except NotUnderstood:
        return True
    values[f"{name}.numel()"] = math.prod(shape)
    values.update({f"{name}.size({place})": size for place, size in enumerate(shape)})
    return True
