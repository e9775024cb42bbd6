"""Addresses: how a place in memory moves with the names in it."""

from __future__ import annotations

from tree_sitter import Node

from evoengineer.propose.syntax.tree import expression, field, named, operator, stripped, text

_NEVER = 9  # a degree that no address may have


def has_unit_stride(address: str, name: str) -> bool:
    """Whether the place in memory moves by one element with this name."""
    load = expression(address)
    pieces = [field(load, "argument")]
    if load.type == "subscript_expression":
        pieces += named(load)[1:]
    return any(text(term) == name for piece in pieces for term in _sum(piece))


def is_affine(address: str, names: set[str]) -> bool:
    """Whether the place in memory is a sum in which each of the names has a factor that depends on neither."""
    load = expression(address)
    pieces = [field(load, "argument")]
    if load.type == "subscript_expression":
        pieces += named(load)[1:]
    return all(_degree(piece, names) <= 1 for piece in pieces)


def _degree(node: Node, names: set[str]) -> int:
    """As a polynomial in the names; a large number for anything else that they take part in."""
    if node.type == "identifier":
        return int(text(node) in names)
    inner = [_degree(each, names) for each in named(node)]
    if not any(inner):
        return 0
    if node.type == "binary_expression":
        left, right = _degree(field(node, "left"), names), _degree(field(node, "right"), names)
        match operator(node):
            case "+":
                return max(left, right)
            case "-" if not right:
                return left
            case "*":
                return left + right
        return _NEVER
    if node.type == "call_expression" and text(field(node, "function")).startswith("static_cast<int"):
        return _degree(field(node, "arguments"), names)
    if node.type in ("parenthesized_expression", "subscript_argument_list", "argument_list"):
        return max(inner)
    return _NEVER


def _sum(node: Node) -> list[Node]:
    if node.type in ("subscript_argument_list", "argument_list"):
        return [term for each in named(node) for term in _sum(each)]
    node = stripped(node)
    if node.type == "binary_expression" and operator(node) == "+":
        return _sum(field(node, "left")) + _sum(field(node, "right"))
    return [node]
