"""Splitting: a long sum is computed in parts by more blocks, and a second kernel adds the parts up.

The result is again a text of plain kernels with one thread per output (and part), so that the first of them can be
tiled like any other. Parts are added in a fixed order, so that results do not depend on the order of blocks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from evoengineer.propose.rewriter.widening import STEP, Loop, counted
from evoengineer.propose.syntax.dependence import target_of
from evoengineer.propose.syntax.kernels import dimensions, fresh_name
from evoengineer.propose.syntax.nest import Nest
from evoengineer.propose.syntax.tree import (
    Edit,
    NotUnderstood,
    edited,
    field,
    identifiers,
    operator,
    replacing,
    text,
    walk,
)

_DATA = re.compile(r"(?P<tensor>\w+)\s*\.\s*data_ptr\s*<\s*float\s*>\s*\(\s*\)$")


@dataclass(frozen=True, slots=True)
class Sum:
    """The loop of a nest that adds to one variable, and nothing else that lasts."""

    statement: Node
    loop: Loop
    name: str
    start: Node  # what the variable is before


def sum_of(nest: Nest) -> Sum:
    """The only loop of the computation, as a sum."""
    loops = [each for each in nest.body if each.type == "for_statement"]
    if len(loops) != 1 or (loop := counted(loops[0])) is None:
        raise NotUnderstood("not one loop")
    parameters = {each.name for each in nest.kernel.parameters if not each.is_pointer}
    if not identifiers(loop.first) | identifiers(loop.last) <= parameters:
        raise NotUnderstood("a loop whose course is not known before it")
    body = field(loops[0], "body")
    inside = {text(_declared(each)) for each in walk(body) if each.type == "init_declarator"}
    changed = {}
    for each in walk(body):
        target = target_of(each)
        if target is not None and text(target) not in inside:
            changed[text(target)] = each
    if len(changed) != 1:
        raise NotUnderstood("a loop that changes more than one variable")
    ((name, change),) = changed.items()
    if (
        change.type != "assignment_expression"
        or operator(change) != "+="
        or name in identifiers(field(change, "right"))
    ):
        raise NotUnderstood("a loop that does more than add")
    for statement in nest.body:
        for each in walk(statement):
            if each.type == "init_declarator" and text(_declared(each)) == name:
                if statement.type != "declaration" or text(field(statement, "type")) != "float":
                    raise NotUnderstood("a sum that is no float")
                return Sum(loops[0], loop, name, field(each, "value"))
    raise NotUnderstood("a sum that starts from nowhere")


def _declared(node: Node) -> Node:
    return next(each for each in walk(field(node, "declarator")) if each.type == "identifier")


def split(source: str, nest: Nest, parts: int) -> tuple[str, str]:
    """The text with the sum in parts, and the name of the kernel that computes them."""
    found = sum_of(nest)
    kernel, launch = nest.kernel, nest.launch
    grid = dimensions(launch.grid)
    if (
        nest.linear is not None
        or len(grid) > 2
        or any(dim.grid for dim in nest.dims)
        or "blockIdx.z" in source
    ):
        raise NotUnderstood("no axis of the grid is free")
    tensor = next(
        (match["tensor"] for each in reversed(launch.arguments) if (match := _DATA.search(text(each)))), None
    )
    if tensor is None:
        raise NotUnderstood("no tensor to take the options of the workspace from")
    name = {
        wanted: fresh_name(source, wanted)
        for wanted in (f"{kernel.name}_part", f"{kernel.name}_sum", f"{kernel.name.upper()}_PARTS",
                       "part", "parts", "chunk", "begin", "end", "whole")
    }  # fmt: skip
    first, second, constant = list(name.values())[:3]
    place = size = ""
    for dim in reversed(nest.dims):
        extent = f"static_cast<int64_t>({dim.extent})"
        place = f"({place}) * {extent} + {dim.name}" if place else dim.name
        size = f"{size} * {extent}" if size else extent
    at = f"{name['parts']}[static_cast<int64_t>({name['part']}) * ({size}) + {place}]"
    head = ", ".join(each.declaration for each in kernel.parameters)
    low, high = text(found.loop.first), found.loop.end(text(found.loop.last))
    kind = found.loop.type
    store = next(each for each in reversed(nest.body) if each.type == "expression_statement")
    if nest.body[-1] != store or found.statement.start_byte > store.start_byte:
        raise NotUnderstood("the sum is not what is stored at the end")
    begin = (
        f"const {kind} {name['begin']} = {low} + {name['part']} * {name['chunk']};\n{STEP}"
        f"const {kind} {name['end']} = min(static_cast<{kind}>({high}), "
        f"static_cast<{kind}>({name['begin']} + {name['chunk']}));\n{STEP}"
    )
    test = field(found.statement, "condition")
    behind = [each for each in nest.body if each.start_byte > found.statement.end_byte]
    partial = _body(
        source,
        kernel.body,
        [
            Edit(
                kernel.body.start_byte + 1,
                kernel.body.start_byte + 1,
                f"\n{STEP}int {name['part']} = blockIdx.z;",
            ),
            replacing(found.start, "0.0f"),
            Edit(found.statement.start_byte, found.statement.start_byte, begin),
            replacing(found.loop.first, name["begin"]),
            replacing(test, f"{found.loop.name} < {name['end']}"),
            *(replacing(each, "") for each in behind[:-1]),
            replacing(store, f"{at} = {found.name};"),
        ],
    )
    added = (
        f"for (int {name['part']} = 0; {name['part']} < {constant}; ++{name['part']}) {found.name} += {at};"
    )
    total = _body(source, kernel.body, [replacing(found.statement, added)])
    arguments = ", ".join(text(each) for each in launch.arguments)
    further = "".join(f", {text(each)}" for each in launch.further)
    sizes = " * ".join(f"static_cast<int64_t>({nest.on_host(dim.extent)})" for dim in nest.dims)
    count = f"({nest.on_host(high)} - ({nest.on_host(low)}) + {constant} - 1) / {constant}"
    block = text(launch.block)
    shape = f"dim3({', '.join((*grid, '1')[:2])}, {constant})"
    data = f"{name['whole']}.data_ptr<float>()"
    calls = (
        f"auto {name['whole']} = torch::empty({{{constant} * {sizes}}}, {tensor}.options());\n{STEP}"
        f"{first}<<<{shape}, {block}{further}>>>({arguments}, {data}, {count});\n{STEP}"
        f"{second}<<<{text(launch.grid)}, {block}{further}>>>({arguments}, {data});"
    )
    new = (
        f"\n\nconstexpr int {constant} = {parts};\n\n"
        f"__global__ void {first}({head}, float* {name['parts']}, int {name['chunk']}) {partial}\n\n"
        f"__global__ void {second}({head}, const float* {name['parts']}) {total}"
    )
    definition, statement = kernel.definition, launch.statement
    if statement.parent is None or statement.parent.type != "compound_statement":
        calls = f"{{\n{STEP}{calls}\n{STEP}}}"
    return (
        edited(source, [Edit(definition.end_byte, definition.end_byte, new), replacing(statement, calls)]),
        first,
    )


def _body(source: str, body: Node, edits: list[Edit]) -> str:
    """A kernel's body with changes."""
    moved = [
        Edit(each.start - body.start_byte, each.end - body.start_byte, each.replacement) for each in edits
    ]
    return edited((body.text or b"").decode(), moved)
