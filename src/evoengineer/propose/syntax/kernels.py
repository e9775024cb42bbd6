"""The kernels of a text and their launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tree_sitter import Node

from evoengineer.propose.syntax.tree import (
    NotUnderstood,
    expression,
    field,
    identifiers,
    named,
    parse,
    render,
    text,
    walk,
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """`type` is written as it stands before the name: `const float*`, `int`, `Shape`."""

    name: str
    type: str
    declaration: str

    @property
    def is_pointer(self) -> bool:
        return self.type.rstrip().endswith("*")

    @property
    def element(self) -> str:
        """What a pointer points to."""
        return self.type.replace("const", "").replace("*", "").strip()


@dataclass(frozen=True, slots=True)
class Kernel:
    """A `__global__` function with a body."""

    name: str
    definition: Node
    parameters: tuple[Parameter, ...]
    body: Node

    def parameter(self, name: str) -> Parameter | None:
        return next((each for each in self.parameters if each.name == name), None)


@dataclass(frozen=True, slots=True)
class Launch:
    """`kernel<<<grid, block, …>>>(arguments);` as a statement of its own."""

    kernel: str
    statement: Node
    grid: Node
    block: Node
    further: tuple[Node, ...]  # dynamic shared memory, stream
    arguments: tuple[Node, ...]


def kernels(source: str) -> tuple[Kernel, ...]:
    """Every kernel that is no template and whose parameters could be read."""
    found = []
    for node in walk(parse(source).root_node):
        if node.type != "function_definition" or not any(
            text(each) == "__global__" for each in node.children
        ):
            continue
        if node.parent is not None and node.parent.type == "template_declaration":
            continue
        try:
            declarator = field(node, "declarator")
            found.append(
                Kernel(
                    text(field(declarator, "declarator")),
                    node,
                    parameters_of(declarator),
                    field(node, "body"),
                )
            )
        except NotUnderstood:
            continue
    return tuple(found)


def parameters_of(declarator: Node) -> tuple[Parameter, ...]:
    """Of a function."""
    return tuple(_parameter(each) for each in named(field(declarator, "parameters")))


def _parameter(node: Node) -> Parameter:
    name = next((each for each in walk(field(node, "declarator")) if each.type == "identifier"), None)
    if name is None:
        raise NotUnderstood(f"parameter without a name: {text(node)}")
    before = (node.text or b"")[: name.start_byte - node.start_byte].decode()
    if name.end_byte != node.end_byte:
        raise NotUnderstood(f"parameter that is no plain value or pointer: {text(node)}")
    written = before.replace("__restrict__", " ").replace("__restrict", " ")
    return Parameter(text(name), " ".join(written.split()), text(node))


def launches(source: str, kernel: str) -> tuple[Launch, ...]:
    found = []
    for node in walk(parse(source).root_node):
        if node.type != "call_expression" or text(field(node, "function")) != kernel:
            continue
        syntax = next((each for each in node.children if each.type == "kernel_call_syntax"), None)
        if syntax is None or node.parent is None or node.parent.type != "expression_statement":
            continue
        shape = named(syntax)
        found.append(
            Launch(
                kernel,
                node.parent,
                shape[0],
                shape[1],
                tuple(shape[2:]),
                tuple(named(field(node, "arguments"))),
            )
        )
    return tuple(found)


def only_launch(source: str, kernel: Kernel) -> Launch:
    """The launch of a kernel that is launched at one place."""
    found = launches(source, kernel.name)
    if len(found) != 1:
        raise NotUnderstood(f"{kernel.name} is launched at {len(found)} places")
    if len(found[0].arguments) != len(kernel.parameters):
        raise NotUnderstood(f"{kernel.name} is launched with default arguments")
    return found[0]


def in_terms_of_launch(kernel: Kernel, launch: Launch, written: str) -> str:
    """An expression over a kernel's parameters, with what the launch passes for them."""
    names = {
        parameter.name: f"({text(argument)})" if argument.type != "identifier" else text(argument)
        for parameter, argument in zip(kernel.parameters, launch.arguments, strict=True)
    }
    value = expression(written)
    if not identifiers(value) <= set(names):
        raise NotUnderstood(f"{written} is not known before the kernel runs")
    return render(value, names)


def dimensions(shape: Node) -> tuple[str, ...]:
    """The components of a grid or block: of `dim3(a, b)`, of a variable `dim3 shape(a, b)`, or of one number."""
    if shape.type == "call_expression" and text(field(shape, "function")) == "dim3":
        return tuple(text(each) for each in named(field(shape, "arguments")))
    if shape.type == "identifier":
        for node in walk(_function(shape)):
            found = _dim3_declaration(node, text(shape))
            if found is not None:
                return found
    return (text(shape),)


def _function(node: Node) -> Node:
    """The function around a node."""
    while node.parent is not None and node.type != "function_definition":
        node = node.parent
    return node


def _dim3_declaration(node: Node, name: str) -> tuple[str, ...] | None:
    if node.type != "declaration" or text(field(node, "type")) != "dim3":
        return None
    for each in named(node):
        if each.type not in {"init_declarator", "function_declarator"}:
            continue
        if text(field(each, "declarator")) != name:
            continue
        if each.type == "function_declarator":  # `dim3 blocks(n, m);` may be read as a function
            return tuple(text(argument) for argument in named(field(each, "parameters")))
        value = field(each, "value")
        if value.type in ("argument_list", "initializer_list"):
            return tuple(text(argument) for argument in named(value))
        if value.type == "call_expression":
            return tuple(text(argument) for argument in named(field(value, "arguments")))
        return (text(value),)
    return None


def fresh_name(source: str, wanted: str, taken: Sequence[str] = ()) -> str:
    """A name that the text does not contain."""
    name, number = wanted, 2
    while name in source or name in taken:
        name, number = f"{wanted}{number}", number + 1
    return name
