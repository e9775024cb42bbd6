"""Syntax trees of CUDA texts, by tree-sitter's grammar: parse, read by node, print back with changes.

A change is a span of the text and what takes its place, so that all that is not changed stays as it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser, Tree


class NotUnderstood(Exception):
    """A piece of code that the model has no words for; the message is the reason on record."""


@cache
def _language() -> Language:
    return Language(tree_sitter_cuda.language())


@lru_cache(maxsize=64)
def parse(source: str) -> Tree:
    """The tree of a text. Offsets of nodes count bytes, so texts are cut as bytes, too."""
    return Parser(_language()).parse(source.encode())


def expression(written: str) -> Node:
    """The tree of an expression by itself."""
    statement = parse(f"auto value_of_expression = {written};").root_node
    for node in walk(statement):
        if node.type == "init_declarator":
            return field(node, "value")
    raise NotUnderstood(f"the expression {written}")


def text(node: Node) -> str:
    return (node.text or b"").decode()


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, in the order of the text."""
    yield node
    for child in node.children:
        yield from walk(child)


def field(node: Node, name: str) -> Node:
    """A child that must be there."""
    child = node.child_by_field_name(name)
    if child is None:
        raise NotUnderstood(f"{node.type} without {name}: {text(node)[:40]}")
    return child


def named(node: Node) -> list[Node]:
    """Named children without comments."""
    return [child for child in node.named_children if child.type != "comment"]


@dataclass(frozen=True, slots=True)
class Edit:
    """A span of bytes and the text in its place."""

    start: int
    end: int
    replacement: str


def edited(source: str, edits: Iterable[Edit]) -> str:
    """The text after changes that do not overlap."""
    data = source.encode()
    for edit in sorted(edits, key=lambda each: each.start, reverse=True):
        data = data[: edit.start] + edit.replacement.encode() + data[edit.end :]
    return data.decode()


def replacing(node: Node, replacement: str) -> Edit:
    return Edit(node.start_byte, node.end_byte, replacement)


def render(node: Node, names: Mapping[str, str], nodes: Mapping[int, str] | None = None) -> str:
    """The text of a node with identifiers replaced, and whole nodes (by `Node.id`)."""
    nodes = nodes or {}
    if node.id in nodes:
        return nodes[node.id]
    if node.type == "identifier":
        return names.get(text(node), text(node))
    if not node.children:
        return text(node)
    data = node.text or b""
    parts: list[str] = []
    position = node.start_byte
    for child in node.children:
        parts.append(data[position - node.start_byte : child.start_byte - node.start_byte].decode())
        if child.type != "comment":
            parts.append(render(child, names, nodes))
        position = child.end_byte
    parts.append(data[position - node.start_byte :].decode())
    return "".join(parts)


def identifiers(node: Node) -> set[str]:
    """Names that an expression mentions; members of structures (`s.width`) only by the structure's name."""
    return {text(each) for each in walk(node) if each.type == "identifier"}


def stripped(node: Node) -> Node:
    """Without parentheses and casts around it."""
    while True:
        if node.type == "parenthesized_expression":
            node = named(node)[0]
        elif node.type == "cast_expression":
            node = field(node, "value")
        elif node.type == "call_expression" and _is_cast(node):
            arguments = named(field(node, "arguments"))
            if len(arguments) != 1:
                return node
            node = arguments[0]
        else:
            return node


def _is_cast(node: Node) -> bool:
    callee = field(node, "function")
    if callee.type == "template_function":
        return text(field(callee, "name")) == "static_cast"
    return callee.type == "primitive_type"


def operator(node: Node) -> str:
    """The operator of a binary, unary, update or assignment expression; empty for others."""
    child = node.child_by_field_name("operator")
    return "" if child is None else text(child)


def terms(node: Node, sign: str) -> list[Node]:
    """Operands of a chain of one operator."""
    node = stripped(node)
    if node.type == "binary_expression" and operator(node) == sign:
        return terms(field(node, "left"), sign) + terms(field(node, "right"), sign)
    return [node]


def is_call_of(node: Node, name: str) -> bool:
    return node.type == "call_expression" and text(field(node, "function")) == name
