"""What the host function's variables are for the sizes that count: tensor shapes and numbers followed through
its assignments. A name whose value does not follow by plain arithmetic is left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from tree_sitter import Node

from evoengineer.propose.syntax.arithmetic import value_of
from evoengineer.propose.syntax.kernels import Launch
from evoengineer.propose.syntax.tree import NotUnderstood, field, named, text, walk

_TENSOR = re.compile(r"tensor \[(?P<shape>[\d, ]*)\]$")
_NUMBER = re.compile(r": int (?P<value>-?\d+)$")


def host_values(launch: Launch, arguments: Sequence[str]) -> dict[str, int]:
    """Values of expressions such as `n`, `s.kernel`, `x.size(1)` in the function that launches; `arguments` are
    described like `x: float32 tensor [8, 16]` and `stride: int 2`, in the order of the function's parameters."""
    function: Node | None = launch.statement
    while function is not None and function.type != "function_definition":
        function = function.parent
    if function is None:
        return {}
    values: dict[str, int] = {}
    try:
        parameters = named(field(field(function, "declarator"), "parameters"))
    except NotUnderstood:
        return {}
    for parameter, argument in zip(parameters, arguments, strict=False):
        name = next((text(each) for each in walk(parameter) if each.type == "identifier"), "")
        tensor, number = _TENSOR.search(argument), _NUMBER.search(argument)
        if tensor is not None:
            shape = [int(size) for size in tensor["shape"].split(",") if size.strip()]
            values[f"{name}.numel()"] = math.prod(shape)
            values[f"{name}.dim()"] = len(shape)
            for place, size in enumerate(shape):
                values[f"{name}.size({place})"] = values[f"{name}.size({place - len(shape)})"] = size
        elif number is not None:
            values[name] = int(number["value"])
    for node in walk(field(function, "body")):
        if node.type == "init_declarator":
            _assign(values, field(node, "declarator"), field(node, "value"))
        elif node.type == "assignment_expression":
            _assign(values, field(node, "left"), field(node, "right"))
    return values


def _assign(values: dict[str, int], target: Node, value: Node) -> None:
    name = text(target)
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
