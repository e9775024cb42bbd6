"""Device functions of a text that are pure: they read their arguments and nothing else."""

from __future__ import annotations

from tree_sitter import Node

from evoengineer.propose.syntax.tree import NotUnderstood, field, parse, text, walk

_IMPURE = ("sync", "shfl", "atomic", "threadIdx", "blockIdx", "__shared__", "asm", "*", "static")


def pure_functions(source: str) -> frozenset[str]:
    """Names of `__device__` functions without pointers and without traces of other threads."""
    found = set()
    for node in walk(parse(source).root_node):
        if node.type != "function_definition" or not any(
            text(each) == "__device__" for each in node.children
        ):
            continue
        try:
            declarator = field(node, "declarator")
            if _is_pure(field(declarator, "parameters"), field(node, "body")):
                found.add(text(field(declarator, "declarator")))
        except NotUnderstood:
            continue
    return frozenset(found)


def _is_pure(parameters: Node, body: Node) -> bool:
    written = text(body)
    return (
        "*" not in text(parameters)
        and "&" not in text(parameters)
        and not any(word in written for word in _IMPURE if word != "*")
        and not any(each.type in ("pointer_expression", "subscript_expression") for each in walk(body))
    )
