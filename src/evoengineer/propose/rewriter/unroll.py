"""Unroll factors: of one loop of a kernel, or of all that walk over data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from tree_sitter import Node

from evoengineer.propose.rewriter.change import Change, Task, shuffled
from evoengineer.propose.syntax.liveness import idle
from evoengineer.propose.syntax.tree import Edit, edited, operator, parse, text, walk

_FACTORS = (2, 4, 8)


@dataclass(frozen=True, slots=True)
class Unroll:
    """Unroll factors of loops."""

    name: str = "unroll"
    thought: str = "Unrolling lets several loads be under way at once and removes branches."
    treats: tuple[str, ...] = ("latency_bound", "issue_bound")
    weight: float = 0.5
    fresh: bool = False

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        return shuffled(list(self._all(source)), random)

    def _all(self, source: str) -> Iterator[Change]:
        for place, loop in enumerate(_loops(source), 1):
            for factor in _FACTORS:
                yield Change(f"loop {place} unrolled by {factor}", _unrolled(source, [loop], factor))


@dataclass(frozen=True, slots=True)
class UnrollAll:
    """The same factor for every loop whose step is not 1, which are the ones that walk over data."""

    name: str = "unroll all"
    thought: str = "Unrolling every loop over the data keeps more loads under way."
    treats: tuple[str, ...] = ("latency_bound", "dram_bound")
    weight: float = 1.0
    fresh: bool = False

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        return shuffled(list(self._all(source)), random)

    def _all(self, source: str) -> Iterator[Change]:
        walking = [loop for loop in _loops(source) if _walks(loop)]
        for factor in _FACTORS if walking else ():
            yield Change(f"data loops unrolled by {factor}", _unrolled(source, walking, factor))


def _loops(source: str) -> list[Node]:
    """Loops of device code that a pragma may precede: statements of a block. A distance that is halved or doubled is no
    walk over data, and what only a fallback runs counts for nothing."""
    found = []
    without_effect = idle(source)
    for function in walk(parse(source).root_node):
        if function.type == "function_definition" and any(
            text(each) in ("__global__", "__device__") for each in function.children
        ):
            name = next((text(each) for each in walk(function) if each.type == "identifier"), "")
            if name in without_effect:
                continue
            found += [
                node
                for node in walk(function)
                if node.type == "for_statement"
                and node.parent is not None
                and node.parent.type == "compound_statement"
                and not _is_scaled(node)
                and not _is_unrolled(node)
            ]
    return found


def _is_unrolled(loop: Node) -> bool:
    """Whether a loop is to be unrolled whole: it is short, and a factor would often be the same machine code."""
    before = loop.prev_sibling
    return before is not None and before.type == "preproc_call" and text(before).split()[1:] == ["unroll"]


def _is_scaled(loop: Node) -> bool:
    update = loop.child_by_field_name("update")
    return update is not None and operator(update) in ("/=", "*=", ">>=", "<<=")


def _walks(loop: Node) -> bool:
    update = loop.child_by_field_name("update")
    return update is not None and "+=" in text(update)


def _unrolled(source: str, loops: Sequence[Node], factor: int) -> str:
    """The text with a factor for the loops, in place of those that they have."""
    data = source.encode()
    edits = []
    for loop in loops:
        line = data.rfind(b"\n", 0, loop.start_byte) + 1
        before = data[line : loop.start_byte].decode()
        indent = before if not before.strip() else before[: len(before) - len(before.lstrip())]
        pragma = f"#pragma unroll {factor}\n{indent}"
        previous = loop.prev_sibling
        if previous is not None and previous.type == "preproc_call" and "unroll" in text(previous):
            edits.append(Edit(previous.start_byte, loop.start_byte, pragma))
        else:
            edits.append(
                Edit(loop.start_byte, loop.start_byte, ("\n" + indent if before.strip() else "") + pragma)
            )
    return edited(source, edits)
