"""Interior: blocks for which no test of the computation ever fails, known before they begin.

    for (dy = 0; dy < 5; ++dy) {
        row = y + dy - 2;
        if (row < 0 || row >= height) continue;      holds for all outputs of a tile and all dy where it holds for
        …                                            the tile's first and last y with the first and last dy
    }

A comparison of sums in which outputs and counters have fixed factors is true everywhere between corners at which it is
true. Such blocks run a version without these tests, in which the compiler sees that neighbouring outputs load the same
places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product

from tree_sitter import Node

from evoengineer.propose.rewriter.staging import definitions_of, resolved
from evoengineer.propose.rewriter.widening import Widening, counted
from evoengineer.propose.syntax.addresses import is_affine
from evoengineer.propose.syntax.nest import Nest
from evoengineer.propose.syntax.tree import (
    NotUnderstood,
    expression,
    field,
    identifiers,
    named,
    operator,
    render,
    text,
)

_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_UNSIGNED = re.compile(r"\b(?:unsigned|size_t|uint\w*)\b")


class Interior:
    """Collects the tests by which a block finds out whether it is one; `tiles` are the sizes of tiles by dimension."""

    def __init__(self, nest: Nest, tiles: Mapping[str, str]) -> None:
        self.nest, self.tiles = nest, tiles
        self.tests: dict[str, None] = {}
        self.refused = bool(_UNSIGNED.search(text(nest.kernel.definition)))  # differences might wrap round
        self.definitions = definitions_of(nest)
        self.known = {each.name for each in nest.kernel.parameters if not each.is_pointer}
        self.known |= {dim.extent for dim in nest.dims if dim.grid}

    def settles(self, condition: Node, form: str, widening: Widening) -> bool:
        """Whether blocks inside pass a condition, in this form, for all of their outputs."""
        if self.refused:
            return False
        try:
            ranges = self._ranges(condition, widening)
            tests = [
                test
                for term, holds in _terms(condition, holds=not form.startswith("!"))
                for test in self._corners(term, holds, ranges, widening)
            ]
        except NotUnderstood:
            return False
        self.tests |= dict.fromkeys(tests)
        return True

    def _ranges(self, condition: Node, widening: Widening) -> dict[str, tuple[str, str]]:
        """The first and the last value of every dimension, and of the counters around a condition."""
        ranges = {}
        for dim in self.nest.dims:
            first = f"first_{dim.name}"
            last = f"({first} + {self.tiles[dim.name]} - 1)" if dim.name in self.tiles else first
            ranges[f"{dim.name}_at"] = (first, last)
        outer = condition.parent
        while outer is not None and outer.type != "function_definition":
            loop = counted(outer) if outer.type == "for_statement" else None
            if loop is not None:
                bounds = [
                    resolved(each, {}, self.definitions, widening, 0) for each in (loop.first, loop.last)
                ]
                self._require_known(*bounds)
                ranges[loop.name] = (f"({bounds[0]})", f"({bounds[1]}{'' if loop.inclusive else ' - 1'})")
            outer = outer.parent
        return ranges

    def _corners(
        self, term: Node, holds: bool, ranges: Mapping[str, tuple[str, str]], widening: Widening
    ) -> Iterator[str]:
        names = {dim.name: f"{dim.name}_at" for dim in self.nest.dims}
        names |= {name: name for name in ranges if name not in names.values()}
        sign = operator(term) if holds else _OPPOSITE[operator(term)]
        sides = [
            resolved(field(term, side), names, self.definitions, widening, 0) for side in ("left", "right")
        ]
        if not all(is_affine(f"place[{side}]", set(ranges)) for side in sides):
            raise NotUnderstood(f"the test {text(term)}")
        nodes = [expression(side) for side in sides]
        involved = sorted(set().union(*map(identifiers, nodes)) & set(ranges))
        for corner in product(*(ranges[name] for name in involved)):
            left, right = (render(node, dict(zip(involved, corner, strict=True))) for node in nodes)
            self._require_known(left, right)
            yield f"{left} {sign} {right}"

    def _require_known(self, *written: str) -> None:
        """Only what is known before a block begins."""
        firsts = {f"first_{dim.name}" for dim in self.nest.dims}
        names = set().union(*(identifiers(expression(each)) for each in written))
        if not names <= self.known | firsts | set(self.tiles.values()):
            raise NotUnderstood("a test of what is not known before")


def _terms(node: Node, *, holds: bool) -> Iterator[tuple[Node, bool]]:
    """Comparisons that all have to hold, or not to, for a condition to hold or not to."""
    while node.type == "parenthesized_expression":
        node = named(node)[0]
    if node.type == "unary_expression" and operator(node) == "!":
        yield from _terms(field(node, "argument"), holds=not holds)
    elif node.type == "binary_expression" and operator(node) == ("&&" if holds else "||"):
        yield from _terms(field(node, "left"), holds=holds)
        yield from _terms(field(node, "right"), holds=holds)
    elif node.type == "binary_expression" and operator(node) in _OPPOSITE:
        yield node, holds
    else:
        raise NotUnderstood(f"the test {text(node)}")
