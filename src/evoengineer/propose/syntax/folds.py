"""Folds: what a loop combines over its iterations, in an order that does not matter.

    sum += x[i];    most = fmaxf(most, x[i]);    if (x[i] > best) { best = x[i]; where = i; }

The last one keeps a value with its place. Threads may share the iterations of such a loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tree_sitter import Node

from evoengineer.propose.syntax.dependence import (
    condition_of,
    ends_iteration,
    is_load,
    statements_of,
    target_of,
)
from evoengineer.propose.syntax.reductions import combination, squeezed
from evoengineer.propose.syntax.tree import (
    NotUnderstood,
    field,
    identifiers,
    named,
    operator,
    stripped,
    text,
    walk,
)

LEAVING = ("break_statement", "return_statement", "while_statement", "do_statement", "goto_statement")
_TURNED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}


@dataclass(frozen=True, slots=True)
class Fold:
    """A variable that is combined by `how`: "+", the name of a function, or, where it has a `place`, the sign that
    tells whether a new value takes over."""

    name: str
    how: str
    place: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, self.place) if self.place else (self.name,)

    def combined(self, other: str, other_place: str = "") -> str:
        """The statement that takes another thread's result in."""
        if self.how == "+":
            return f"{self.name} += {other};"
        if not self.place:
            return f"{self.name} = {self.how}({self.name}, {other});"
        earlier = "<" if self.how in "<>" else ">"  # of equal values the first stays, or the last takes over
        return (
            f"if ({other} {self.how[0]} {self.name} || "
            f"({other} == {self.name} && {other_place} {earlier} {self.place})) "
            f"{{ {self.name} = {other}; {self.place} = {other_place}; }}"
        )


def folds(counters: Iterable[str], body: Node, *, storing: bool = False) -> tuple[Fold, ...]:
    """What the body of a loop with these counters combines; `NotUnderstood` for anything else that lasts, but for
    stores at places of their own, where the loop may be `storing`."""
    places = set(counters)
    own = places | {
        next(text(each) for each in walk(field(node, "declarator")) if each.type == "identifier")
        for node in walk(body)
        if node.type == "init_declarator"
    }
    found: dict[str, Fold] = {}
    inside: dict[str, int] = {}  # mentions of each variable within what combines it
    kept = _kept_with_place(body, places)
    settled = {each.id for node in kept for each in walk(node)}

    def add(fold: Fold, *nodes: Node) -> None:
        if found.setdefault(fold.name, fold) != fold:
            raise NotUnderstood(f"{fold.name} is combined in several ways")
        for name in fold.names:
            inside[name] = inside.get(name, 0) + sum(_mentions(node, name) for node in nodes)

    if kept:
        test, value, place = kept
        add(_pair(test, value, place, places), *kept)
    for node in walk(body):
        if node.type in LEAVING:
            raise NotUnderstood(f"a {node.type.replace('_', ' ')} in a loop")
        target = target_of(node)
        if node.id in settled or target is None or (target.type == "identifier" and text(target) in own):
            continue
        if storing and is_load(target) and identifiers(target) & own:
            continue
        how = combination(node)
        if target.type != "identifier" or how is None or text(target) in identifiers(how[2]):
            raise NotUnderstood(f"{text(node)} in a loop")
        add(Fold(text(target), how[0]), node)
    for name, count in inside.items():
        if _mentions(body, name) != count:
            raise NotUnderstood(f"{name} is used while it is combined")
    return tuple(found.values())


def _mentions(node: Node, name: str) -> int:
    return sum(each.type == "identifier" and text(each) == name for each in walk(node))


def _kept_with_place(body: Node, counters: set[str]) -> tuple[Node, ...]:
    """The test and the two assignments of a value that is kept with its place, at the end of a loop's body:
    `if (value > best) { best = value; where = i; }`, or `if (!(value > best)) continue;` before them."""
    statements = [each for each in statements_of(body) if each.type != "preproc_call"]
    chosen = next((each for each in statements[-3:] if each.type == "if_statement"), None)
    if chosen is None or chosen.child_by_field_name("alternative") is not None:
        return ()
    test = stripped(condition_of(chosen))
    inner = statements[statements.index(chosen) + 1 :]
    if ends_iteration(chosen):
        if test.type != "unary_expression" or operator(test) != "!":
            return ()
        test = stripped(field(test, "argument"))
    elif not inner:
        inner = statements_of(field(chosen, "consequence"))
    changes = [named(each)[0] for each in inner if each.type == "expression_statement" and named(each)]
    if (
        len(changes) != 2
        or len(inner) != 2
        or test.type != "binary_expression"
        or operator(test) not in _TURNED
    ):
        return ()
    if any(each.type != "assignment_expression" or operator(each) != "=" for each in changes):
        return ()
    return (test, *(changes if text(stripped(field(changes[1], "right"))) in counters else changes[::-1]))


def _pair(test: Node, value: Node, place: Node, counters: set[str]) -> Fold:
    left, right = stripped(field(test, "left")), stripped(field(test, "right"))
    best, where = field(value, "left"), field(place, "left")
    taken, at = stripped(field(value, "right")), stripped(field(place, "right"))
    if text(at) in counters and best.type == "identifier" and where.type == "identifier":
        if squeezed(left) == squeezed(taken) and text(right) == text(best):
            return Fold(text(best), operator(test), text(where))
        if squeezed(right) == squeezed(taken) and text(left) == text(best):
            return Fold(text(best), _TURNED[operator(test)], text(where))
    raise NotUnderstood("two values that are kept together")
