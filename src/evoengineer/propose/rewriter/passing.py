"""Passing: what the host hands from kernel to kernel, and where a kernel puts it."""

from __future__ import annotations

import re
from random import Random

from tree_sitter import Node

from evoengineer.propose.syntax.arithmetic import value_of
from evoengineer.propose.syntax.dependence import target_of
from evoengineer.propose.syntax.nest import Nest
from evoengineer.propose.syntax.tree import NotUnderstood, field, named, render, text, walk

_POINTER = re.compile(
    r"\s*(?P<tensor>\w+)\s*\.\s*(?:mutable_|const_)?data_ptr\s*(?:<\s*\w+\s*>)?\s*\(\s*\)\s*"
)
_ROUNDS, _DRAWS = 3, 40  # numbers that names are given to tell whether two places are the same


def name_of(argument: Node) -> str:
    """The tensor whose data is passed; empty for anything else."""
    found = _POINTER.fullmatch(text(argument))
    return found["tensor"] if found is not None else ""


def stored_last(nest: Nest) -> Node:
    """`t[place] = value;`, or with another sign: the last statement of a nest, and its only store."""
    *before, last = [each for each in nest.body if each.type != "preproc_call"] or [nest.kernel.body]
    change = named(last)[0] if last.type == "expression_statement" and named(last) else last
    if change.type != "assignment_expression":
        raise NotUnderstood("no store at the end")
    target = field(change, "left")
    if target.type != "subscript_expression" or field(target, "argument").type != "identifier":
        raise NotUnderstood("no store at the end")
    for each in before:
        for node in walk(each):
            other = target_of(node)
            if (other is not None and other.type != "identifier") or "atomic" in text(node)[:6]:
                raise NotUnderstood("several stores")
    return change


def require_number(nest: Nest, place: Node) -> None:
    """Whether a place in memory is the number of the output, for all extents: told by the values of both for a few
    numbers in place of the names."""
    local: dict[str, str] = {}
    for statement in nest.body:
        for each in named(statement) if statement.type == "declaration" else ():
            if each.type == "init_declarator" and field(each, "declarator").type == "identifier":
                local[text(field(each, "declarator"))] = f"({render(field(each, 'value'), local)})"
    written = render(place, local)
    random, rounds = Random(0), 0
    for _ in range(_DRAWS):
        try:
            names, extents = _drawn(nest, random)
        except NotUnderstood:  # of numbers that are no sizes, such as a filter longer than the line
            continue
        if any(extent <= 0 for extent in extents):
            continue
        number, size = 0, 1
        for dim, extent in zip(nest.dims, extents, strict=True):
            names[dim.name] = random.randrange(extent)
            number += names[dim.name] * size
            size *= extent
        names |= {each.name: value_of(nest.index_of(each, {dim.name: dim.name for dim in nest.dims}), names)
                  for each in nest.linears}  # fmt: skip
        if value_of(written, names) != number:
            raise NotUnderstood("places that do not follow the numbers of the outputs")
        rounds += 1
    if rounds < _ROUNDS:
        raise NotUnderstood("extents that are not sizes")


def _drawn(nest: Nest, random: Random) -> tuple[dict[str, int], list[int]]:
    """Numbers for a kernel's parameters, and the extents of its outputs that follow. What only the host knows of an
    extent may be what it passes for a parameter."""
    names = {each.name: random.randint(2, 40) for each in nest.kernel.parameters if not each.is_pointer}
    passed = {
        "".join(text(argument).split()): parameter.name
        for parameter, argument in zip(nest.kernel.parameters, nest.launch.arguments, strict=True)
    }
    for dim in nest.dims:
        if dim.grid:
            known = names.get(passed.get("".join(dim.grid.split()), ""))
            names[dim.extent] = random.randint(2, 40) if known is None else known
    return names, [value_of(dim.extent, names) for dim in nest.dims]
