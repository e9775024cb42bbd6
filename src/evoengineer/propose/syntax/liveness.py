"""Liveness: names that decide nothing but what a text falls back to.

A rewrite keeps the original kernel for sizes that its own does not take, and the launch decides: `if (…) new<<<…>>>(…);
else old<<<…>>>(…);`. Constants that only the second branch reads change nothing for the sizes that count.
"""

from __future__ import annotations

from functools import lru_cache

from tree_sitter import Node

from evoengineer.propose.syntax.kernels import Kernel, kernels
from evoengineer.propose.syntax.tree import NotUnderstood, field, parse, text, walk


@lru_cache(maxsize=64)
def idle(source: str) -> frozenset[str]:
    """Names that only fallbacks use, directly or through other such names."""
    root = parse(source).root_node
    uses: dict[str, list[Node]] = {}
    for node in walk(root):
        if node.type == "identifier" and not _is_declared(node):
            uses.setdefault(text(node), []).append(node)
    found: set[str] = set()
    while True:
        more = {
            name
            for name, nodes in uses.items()
            if name not in found and all(_holder(node) in found or _is_fallback(node) for node in nodes)
        }
        if not more:
            return frozenset(found)
        found |= more


def live_kernels(source: str) -> list[Kernel]:
    """The kernels that run for the sizes that count."""
    return [each for each in kernels(source) if each.name not in idle(source)]


def _is_declared(node: Node) -> bool:
    """Whether a name is introduced here, not used."""
    parent = node.parent
    if parent is None:
        return False
    if parent.type in ("init_declarator", "function_declarator", "declaration"):
        return parent.child_by_field_name("declarator") == node
    return parent.type == "preproc_def"


def _holder(node: Node) -> str:
    """The variable or function whose definition a use stands in; empty for anything else."""
    inner, outer = node, node.parent
    while outer is not None:
        if outer.type == "init_declarator" and outer.child_by_field_name("value") == inner:
            return _name(outer)
        if outer.type == "function_definition":
            return _name(field(outer, "declarator")) if "__global__" in text(outer)[:40] else ""
        inner, outer = outer, outer.parent
    return ""


def _name(node: Node) -> str:
    try:
        return next(text(each) for each in walk(field(node, "declarator")) if each.type == "identifier")
    except (NotUnderstood, StopIteration):
        return ""


def _is_fallback(node: Node) -> bool:
    """Whether a use stands in the second branch of a condition that launches in both."""
    inner, outer = node, node.parent
    while outer is not None:
        if inner.type == "else_clause" and outer.type == "if_statement":
            first = field(outer, "consequence")
            if any(each.type == "kernel_call_syntax" for each in walk(first)):
                return True
        inner, outer = outer, outer.parent
    return False
