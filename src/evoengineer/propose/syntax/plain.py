"""Plain: a text that means the same, in the few forms that the model of kernels reads.

Published kernels say the same in many ways. Each step here takes one of them to the form that the other modules look
for, and leaves alone what it is not sure of. A plain text comes out as it went in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from tree_sitter import Node

from evoengineer.propose.syntax import forms, places, windows
from evoengineer.propose.syntax.accessors import with_pointers
from evoengineer.propose.syntax.inlining import inlined
from evoengineer.propose.syntax.instances import for_float, instantiated
from evoengineer.propose.syntax.kernels import kernels
from evoengineer.propose.syntax.macros import expanded
from evoengineer.propose.syntax.structures import flattened
from evoengineer.propose.syntax.tree import Edit, NotUnderstood, edited, walk

_ROUNDS = 40  # of a rule, each of which changes one place or several that do not overlap
_STEPS = (expanded, for_float, instantiated, with_pointers, inlined, flattened)
_RULES = (
    forms.comparisons,
    forms.initialised,
    forms.one_each,
    places.fetched,
    forms.extremes,
    forms.loops,
    forms.unit_steps,
    forms.own_counters,
    forms.once_assigned,
    windows.uncut,
    places.kept_in_memory,
    forms.added,
    places.walking,
    forms.skipping,
    forms.remainders,
    forms.bounds_first,
    forms.comparisons,
)


@lru_cache(maxsize=64)
def plain(source: str) -> str:
    """The text in plain forms."""
    for step in _STEPS:
        source = step(source)
    for rule in _RULES:
        source = _everywhere(source, rule)
    return source


def _everywhere(source: str, rule: Callable[[Node], Iterator[Edit]]) -> str:
    """A rule applied to the bodies of kernels until it finds nothing more."""
    for _ in range(_ROUNDS):
        edits: list[Edit] = []
        for kernel in kernels(source):
            for node in walk(kernel.body):
                try:
                    found = list(rule(node))
                except NotUnderstood:
                    continue
                if all(
                    found_at.end <= each.start or each.end <= found_at.start
                    for found_at in found
                    for each in edits
                ):
                    edits += found
        if not edits:
            break
        source = edited(source, edits)
    return source
