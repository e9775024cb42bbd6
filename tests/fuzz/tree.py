"""The statements of a generated kernel as a tree, so that a failing one can be cut down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Part:
    """A header such as `if (…) {` or `} else {` and the statements under it."""

    header: str
    body: list[Node] = field(default_factory=list)


@dataclass
class Node:
    """One statement. A plain one is a part without a body; `removable` ones may be deleted whole."""

    parts: list[Part]
    close: str = ""
    removable: bool = True

    def lines(self, indent: int = 1) -> Iterator[str]:
        pad = "    " * indent
        for part in self.parts:
            for line in part.header.splitlines():
                yield pad + line
            for node in part.body:
                yield from node.lines(indent + 1)
        if self.close:
            yield pad + self.close


def plain(text: str, removable: bool = True) -> Node:
    return Node([Part(text)], "", removable)


def bodies(nodes: list[Node]) -> Iterator[list[Node]]:
    """Every list of statements in the tree, outermost first."""
    yield nodes
    for node in nodes:
        for part in node.parts:
            if part.body:
                yield from bodies(part.body)


def render(nodes: list[Node], indent: int = 1) -> str:
    return "\n".join(line for node in nodes for line in node.lines(indent))
