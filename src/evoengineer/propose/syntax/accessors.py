"""Accessors: kernels that are given packed accessors (`x[i][j]`, `x.size(0)`), with pointers and sizes instead.

An accessor knows the strides of its tensor, a pointer does not. So what is only read is made contiguous at the launch,
which costs nothing where it is already, and what is written has to be a tensor that the host makes itself; one that is
made like another is made contiguous. Everything else is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from evoengineer.propose.syntax.kernels import Kernel, Launch, fresh_name, kernels, only_launch
from evoengineer.propose.syntax.tree import (
    Edit,
    NotUnderstood,
    edited,
    field,
    named,
    render,
    replacing,
    stripped,
    text,
    walk,
)

_TYPE = re.compile(
    r"(?:const )?(?:torch|at)::(?:Generic)?PackedTensorAccessor(?P<bits>32|64)?"
    r"<\s*(?P<element>\w+)\s*,\s*(?P<rank>\d)\b(?P<traits>[^&]*)>"
)
_TAKEN = re.compile(r"(?P<tensor>\w+)\s*\.\s*packed_accessor(?:32|64)?\s*<[^()]*>\s*\(\s*\)", re.DOTALL)
_MADE = re.compile(r"(?:torch|at)::(?P<maker>empty|zeros|ones|full)(?P<like>_like)?")


@dataclass(frozen=True, slots=True)
class _Accessor:
    """A parameter, what is done with it, and the tensor that is passed for it."""

    name: str
    element: str
    index: str  # type of sizes
    restrict: str  # a promise that only whoever wrote the kernel can make
    elements: tuple[tuple[Node, tuple[Node, ...]], ...]  # every use of an element, with its indices
    sizes: tuple[tuple[Node, int], ...]  # every question for a size, with the dimension
    rank: int
    is_written: bool
    tensor: str
    argument: Node


def with_pointers(source: str) -> str:
    """The text with kernels that take pointers, one kernel after the other."""
    for name in [each.name for each in kernels(source)]:
        kernel = next(each for each in kernels(source) if each.name == name)
        try:
            launch = only_launch(source, kernel)
            source = edited(source, _edits(source, kernel, launch))
        except NotUnderstood:
            continue
    return source


def _edits(source: str, kernel: Kernel, launch: Launch) -> list[Edit]:
    found = list(_accessors(kernel, launch))
    edits: list[Edit] = []
    sizes: dict[tuple[str, int], str] = {}
    for each in found:
        asked = {dimension for _, dimension in each.sizes} | set(range(1, each.rank))
        for dimension in sorted(asked):
            sizes[each.name, dimension] = fresh_name(
                source, f"{each.name}_size{dimension}", [*sizes.values()]
            )
    parameters = {text(field(node, "declarator")): node for node in named(_parameters(kernel))}
    for each in found:
        own = [(dimension, name) for (of, dimension), name in sizes.items() if of == each.name]
        kind = f"{each.element}*" if each.is_written else f"const {each.element}*"
        declared = [f"{kind} {each.restrict}{each.name}", *(f"{each.index} {name}" for _, name in own)]
        edits.append(replacing(parameters[each.name], ", ".join(declared)))
        pointer = each.tensor if each.is_written else f"{each.tensor}.contiguous()"
        passed = [
            f"{pointer}.data_ptr<{each.element}>()",
            *(f"static_cast<{each.index}>({each.tensor}.size({dimension}))" for dimension, _ in own),
        ]
        edits.append(replacing(each.argument, ", ".join(passed)))
        if each.is_written:
            edits += _contiguous(launch, each.tensor)
    written = {
        node.id: _address(each, indices, sizes, {}) for each in found for node, indices in each.elements
    }
    outermost = {node.id for each in found for node, _ in each.elements}
    for each in found:
        for node, indices in each.elements:
            if not _is_inside(node, outermost):
                edits.append(replacing(node, _address(each, indices, sizes, written)))
        for node, dimension in each.sizes:
            if not _is_inside(node, outermost):
                edits.append(replacing(node, sizes[each.name, dimension]))
            else:
                raise NotUnderstood("a size within an index")
    return edits


def _accessors(kernel: Kernel, launch: Launch) -> Iterator[_Accessor]:
    targets = {stripped(target).id for node in walk(kernel.body) if (target := _changed(node)) is not None}
    for parameter, argument in zip(kernel.parameters, launch.arguments, strict=True):
        kind, passed = _TYPE.fullmatch(parameter.type), _TAKEN.fullmatch(_taken(launch, argument))
        if kind is None:
            continue
        if passed is None:
            raise NotUnderstood(f"{text(argument)} is passed for an accessor")
        rank = int(kind["rank"])
        elements, sizes = [], []
        for node in walk(kernel.body):
            if node.type != "identifier" or text(node) != parameter.name:
                continue
            if node.parent is not None and node.parent.type == "field_expression":
                sizes.append(_size(node.parent))
            else:
                elements.append(_element(node, rank))
        yield _Accessor(
            parameter.name,
            kind["element"],
            "int" if kind["bits"] == "32" else "int64_t",
            "__restrict__ " if "RestrictPtrTraits" in kind["traits"] else "",
            tuple(elements),
            tuple(sizes),
            rank,
            any(node.id in targets for node, _ in elements),
            passed["tensor"],
            argument,
        )


def _taken(launch: Launch, argument: Node) -> str:
    """What is passed, also where it was given a name before (`auto x_a = x.packed_accessor32<float, 2>();`) and the
    tensor is still the same."""
    if argument.type != "identifier":
        return text(argument)
    inner: Node | None = launch.statement
    while inner is not None and inner.type != "function_definition":
        before = inner.prev_named_sibling
        while before is not None:
            for each in named(before) if before.type == "declaration" else ():
                if each.type == "init_declarator" and text(field(each, "declarator")) == text(argument):
                    return text(field(each, "value")) if _is_kept(each, launch) else ""
            before = before.prev_named_sibling
        inner = inner.parent
    return text(argument)


def _is_kept(declared: Node, launch: Launch) -> bool:
    """Whether nothing is assigned to the accessor or its tensor between its declaration and the launch."""
    names = {text(each) for each in walk(declared) if each.type == "identifier"}
    function: Node = declared
    while function.parent is not None and function.type != "function_definition":
        function = function.parent
    return not any(
        node.type == "assignment_expression"
        and text(field(node, "left")) in names
        and declared.end_byte <= node.start_byte < launch.statement.start_byte
        for node in walk(function)
    )


def _parameters(kernel: Kernel) -> Node:
    return field(field(kernel.definition, "declarator"), "parameters")


def _changed(node: Node) -> Node | None:
    """What a statement writes to, or may: also what its address is taken of."""
    if node.type == "pointer_expression":
        return field(node, "argument")
    if node.type in ("assignment_expression", "update_expression"):
        return field(node, "left" if node.type == "assignment_expression" else "argument")
    return None


def _element(name: Node, rank: int) -> tuple[Node, tuple[Node, ...]]:
    """The element that `name[i][j]` is, and its indices."""
    indices: list[Node] = []
    node = name
    for _ in range(rank):
        parent = node.parent
        if parent is None or parent.type != "subscript_expression" or field(parent, "argument") != node:
            raise NotUnderstood(f"{text(name)} without an index for each dimension")
        inside = named(field(parent, "indices"))
        if len(inside) != 1:
            raise NotUnderstood(f"indices of {text(name)}")
        indices.append(inside[0])
        node = parent
    return node, tuple(indices)


def _size(node: Node) -> tuple[Node, int]:
    """The question `x.size(1)` around `x.size`."""
    call = node.parent
    if text(field(node, "field")) != "size" or call is None or call.type != "call_expression":
        raise NotUnderstood(f"{text(node)} of an accessor")
    arguments = named(field(call, "arguments"))
    if len(arguments) != 1 or not text(arguments[0]).isdigit():
        raise NotUnderstood(f"{text(call)} of an accessor")
    return call, int(text(arguments[0]))


def _is_inside(node: Node, others: set[int]) -> bool:
    """Whether one of the others is around a node."""
    around = node.parent
    while around is not None:
        if around.id in others:
            return True
        around = around.parent
    return False


def _address(
    accessor: _Accessor,
    indices: tuple[Node, ...],
    sizes: dict[tuple[str, int], str],
    inside: dict[int, str],
) -> str:
    """An element of a contiguous tensor."""
    place, *rest = (render(each, {}, inside) for each in indices)
    for dimension, index in enumerate(rest, start=1):
        place = f"{_bracketed(place)} * {sizes[accessor.name, dimension]} + {_bracketed(index)}"
    return f"{accessor.name}[{place}]"


def _bracketed(written: str) -> str:
    return written if re.fullmatch(r"[\w.]+", written) else f"({written})"


def _contiguous(launch: Launch, tensor: str) -> Iterator[Edit]:
    """What the host has to change so that a tensor that it makes is contiguous."""
    function: Node = launch.statement
    while function.parent is not None and function.type != "function_definition":
        function = function.parent
    made = [
        field(node, "value")
        for node in walk(function)
        if node.type == "init_declarator" and text(field(node, "declarator")) == tensor
    ]
    changed = any(
        node.type == "assignment_expression" and text(field(node, "left")) == tensor
        for node in walk(function)
    )
    # The call itself has to be the maker's: `torch::empty(…).t()` is a call, too, and lies otherwise in memory.
    is_call = len(made) == 1 and made[0].type == "call_expression" and not changed
    maker = _MADE.fullmatch(text(field(made[0], "function"))) if is_call else None
    if maker is None or "memory_format" in text(made[0]):
        raise NotUnderstood(f"{tensor} is written, and nothing tells how it lies in memory")
    if maker["like"]:
        yield Edit(made[0].end_byte, made[0].end_byte, ".contiguous()")
