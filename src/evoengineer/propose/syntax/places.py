"""Places in memory, in plain forms: loads by a function, sums that live in memory, pointers that walk."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from evoengineer.propose.syntax.dependence import target_of
from evoengineer.propose.syntax.kernels import fresh_name, parameters_of
from evoengineer.propose.syntax.tree import (
    Edit,
    expression,
    field,
    identifiers,
    named,
    operator,
    replacing,
    stripped,
    text,
    walk,
)


def fetched(node: Node) -> Iterator[Edit]:
    """`__ldg(&a[i])` and `__ldg(a + i)` → `a[i]`: the same load where nobody writes there meanwhile."""
    if node.type != "call_expression" or text(field(node, "function")) != "__ldg":
        return
    inside = named(field(node, "arguments"))
    if len(inside) != 1:
        return
    place = stripped(inside[0])
    if place.type == "pointer_expression" and operator(place) == "&":
        yield replacing(node, text(field(place, "argument")))
    elif place.type == "binary_expression" and operator(place) == "+":
        base, index = field(place, "left"), text(field(place, "right"))
        while base.type == "binary_expression" and operator(base) == "+":
            base, index = field(base, "left"), f"{text(field(base, 'right'))} + {index}"
        if base.type == "identifier":
            yield replacing(node, f"{text(base)}[{index}]")
    elif place.type == "identifier":
        yield replacing(node, f"{text(place)}[0]")


def kept_in_memory(node: Node) -> Iterator[Edit]:
    """`c[i] = 0; for (…) c[i] += …;` → a variable that is added to, and stored at the end."""
    if node.type != "expression_statement" or node.parent is None or node.parent.type != "compound_statement":
        return
    first = named(node)[0] if named(node) else node
    if first.type != "assignment_expression" or operator(first) != "=":
        return
    place, loop = field(first, "left"), _after(node)
    if place.type != "subscript_expression" or loop is None or loop.type != "for_statement":
        return
    array, function = field(place, "argument"), _function(node)
    uses = [
        each
        for each in walk(field(function, "body"))
        if each.type == "subscript_expression" and text(field(each, "argument")) == text(array)
    ]
    inside = [each for each in uses if loop.start_byte <= each.start_byte < loop.end_byte]
    kind = _element(text(array), function)
    if not kind or not inside or len(uses) != len(inside) + 1:
        return
    for each in inside:
        outer = each.parent
        if outer is None or outer.type != "assignment_expression" or operator(outer) != "+=":
            return
        if field(outer, "left") != each or text(each) != text(place):
            return
    changed = {text(target) for each in walk(loop) if (target := target_of(each)) is not None}
    if identifiers(place) & changed:
        return
    name = fresh_name(text(function), f"of_{text(array)}")
    yield replacing(node, f"{kind} {name} = {text(field(first, 'right'))};")
    for each in inside:
        yield replacing(each, name)
    yield Edit(loop.end_byte, loop.end_byte, f"\n    {text(place)} = {name};")


def _after(node: Node) -> Node | None:
    """The next statement."""
    following = node.next_named_sibling
    while following is not None and following.type in ("comment", "preproc_call"):
        following = following.next_named_sibling
    return following


def _function(node: Node) -> Node:
    while node.parent is not None and node.type != "function_definition":
        node = node.parent
    return node


def _element(name: str, function: Node) -> str:
    """What a pointer among the parameters points to; empty for anything else."""
    for each in parameters_of(field(function, "declarator")):
        if each.name == name and each.type.count("*") == 1:
            return each.element
    return ""


def walking(node: Node) -> Iterator[Edit]:
    """`for (i = 0; …; ++i) { … *p …; p += n; }` → `p[i * n]`, for a pointer that nobody else moves."""
    if node.type != "expression_statement" or node.parent is None or not named(node):
        return
    step, loop = named(node)[0], node.parent.parent
    target = target_of(step)
    if target is None or target.type != "identifier" or loop is None or loop.type != "for_statement":
        return
    if (step.type == "assignment_expression" and operator(step) != "+=") or operator(step) == "--":
        return
    name, start = text(target), loop.child_by_field_name("initializer")
    stride = text(field(step, "right")) if step.type == "assignment_expression" else "1"
    counters = [each for each in named(start) if each.type == "init_declarator"] if start is not None else []
    function = _function(node)
    declared = [
        each
        for each in walk(field(function, "body"))
        if each.type == "init_declarator"
        and field(each, "declarator").type == "pointer_declarator"
        and name in identifiers(field(each, "declarator"))
    ]
    if len(counters) != 1 or text(field(counters[0], "value")) != "0" or len(declared) != 1:
        return
    if field(loop, "update").type != "update_expression" or loop.parent is None:
        return
    counter, uses = text(field(counters[0], "declarator")), []
    for each in walk(field(function, "body")):
        if each.type != "identifier" or text(each) != name or each.parent == declared[0]:
            continue
        if declared[0].start_byte <= each.start_byte < declared[0].end_byte or each == target:
            continue
        outer = each.parent
        loads = outer is not None and outer.type in ("pointer_expression", "subscript_expression")
        if not loads or not field(loop, "body").start_byte <= each.start_byte < node.start_byte:
            return
        uses.append(outer)
    changed = {text(moved) for each in walk(loop) if (moved := target_of(each)) is not None}
    if not uses or changed & (identifiers(expression(stride)) - {name}):
        return
    for use in uses:
        assert use is not None
        inner = f"{counter} * ({stride})" if stride != "1" else counter
        if use.type == "pointer_expression":
            yield replacing(use, f"{name}[{inner}]")
        else:
            inside = text(named(use)[1]).strip("[]")
            yield replacing(use, f"{name}[{inner} + ({inside})]")
    yield replacing(node, "")
