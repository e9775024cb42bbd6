"""Windows: loops whose bounds are cut at the borders of the data, as loops of one length that skip what lies outside.

    int h0 = max(y * stride - pad, 0), h1 = min(y * stride - pad + size, height);
    for (int h = h0; h < h1; ++h) sum += x[h];
 →  for (int h_of_window = 0; h_of_window < size; ++h_of_window) {
        const int h = y * stride - pad + h_of_window;
        if (h < 0 || h >= height) continue;
        sum += x[h];
    }

Poolings are written in both ways; all outputs then go through the window together, and most need no test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tree_sitter import Node

from evoengineer.propose.syntax.dependence import statements_of, target_of
from evoengineer.propose.syntax.kernels import fresh_name
from evoengineer.propose.syntax.reductions import squeezed
from evoengineer.propose.syntax.tree import (
    Edit,
    field,
    identifiers,
    named,
    operator,
    replacing,
    stripped,
    text,
    walk,
)

_SIGNED = ("int", "long", "int64_t", "int32_t", "long long")


def uncut(node: Node) -> Iterator[Edit]:
    """One loop of this kind in the other form."""
    if node.type != "for_statement":
        return
    start, test, update = (node.child_by_field_name(part) for part in ("initializer", "condition", "update"))
    if start is None or test is None or update is None or start.type != "declaration":
        return
    declared = [each for each in named(start) if each.type == "init_declarator"]
    kind = text(field(start, "type"))
    if len(declared) != 1 or kind not in _SIGNED or test.type != "binary_expression" or operator(test) != "<":
        return
    name = text(field(declared[0], "declarator"))
    counts = update.type == "update_expression" and operator(update) == "++"
    if not counts or text(field(update, "argument")) != name or text(field(test, "left")) != name:
        return
    function = node
    while function.parent is not None and function.type != "function_definition":
        function = function.parent
    known = _kept(function)
    first, last = (_value(field(*place), known) for place in ((declared[0], "value"), (test, "right")))
    low, high = _argument(first, "max", known, zero=True), _argument(last, "min", known, zero=False)
    if high is None or (first.type == "call_expression" and low is None):
        return
    begin = low[0] if low is not None else first
    size = _beyond(high[0], begin, known)
    changed = {text(target) for each in walk(node) if (target := target_of(each)) is not None}
    if size is None or (identifiers(begin) | identifiers(size) | identifiers(high[1])) & changed:
        return
    counter = fresh_name(text(function), f"{name}_of_window")
    tests = ([f"{name} < 0"] if low is not None else []) + [f"{name} >= {text(high[1])}"]
    inside = "\n".join(text(each) for each in statements_of(field(node, "body")))
    yield replacing(
        node,
        f"for ({kind} {counter} = 0; {counter} < {text(size)}; ++{counter}) {{\n"
        f"const {kind} {name} = {text(begin)} + {counter};\n"
        f"if ({' || '.join(tests)}) continue;\n{inside}\n}}",
    )


def _kept(function: Node) -> dict[str, Node]:
    """Variables that keep the value of their declaration."""
    changed = {text(target) for node in walk(function) if (target := target_of(node)) is not None}
    found: dict[str, Node] = {}
    for node in walk(field(function, "body")):
        if node.type == "init_declarator" and field(node, "declarator").type == "identifier":
            name = text(field(node, "declarator"))
            if name in found:
                changed.add(name)  # two of that name
            found[name] = stripped(field(node, "value"))
    return {name: value for name, value in found.items() if name not in changed}


def _value(node: Node, known: Mapping[str, Node]) -> Node:
    node = stripped(node)
    return known.get(text(node), node) if node.type == "identifier" else node


def _argument(
    node: Node, function: str, known: Mapping[str, Node], *, zero: bool
) -> tuple[Node, Node] | None:
    """The cut value and the border of `max(value, 0)` or `min(value, border)`."""
    if node.type != "call_expression" or text(field(node, "function")) not in (function, f"std::{function}"):
        return None
    sides = named(field(node, "arguments"))
    if len(sides) != 2:
        return None
    for value, border in (sides, sides[::-1]):
        if zero and squeezed(stripped(border)) == "0":
            return value, border
        if not zero and _value(value, known).type == "binary_expression":
            return value, border
    return None


def _beyond(end: Node, begin: Node, known: Mapping[str, Node]) -> Node | None:
    """How far the end lies behind the beginning, where it is written as `beginning + size`."""
    node = _value(end, known)
    if node.type != "binary_expression" or operator(node) != "+":
        return None
    left, right = stripped(field(node, "left")), stripped(field(node, "right"))
    if squeezed(left) in (squeezed(stripped(begin)), squeezed(_value(begin, known))) or squeezed(
        _value(left, known)
    ) == squeezed(_value(begin, known)):
        return right if right.type in ("identifier", "number_literal", "field_expression") else None
    return None
