"""Change and Rewrite: what the rewriter is made of. A rewrite knows one way to change a text; see `catalogue.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Protocol

from evoengineer.propose.syntax.kernels import Kernel, kernels


@dataclass(frozen=True, slots=True)
class Change:
    """A changed text, and what was done in a few words."""

    what: str
    source: str


@dataclass(frozen=True, slots=True)
class Task:
    """What a rewrite may know besides the text: the arguments of the case that is timed, as prompts show them, and
    the card's multiprocessors. `kernels` are the ones to rewrite where a text has others that a rewrite has made."""

    arguments: tuple[str, ...] = ()
    multiprocessors: int = 0  # 0: not known
    kernels: frozenset[str] | None = None

    def open(self, source: str) -> tuple[Kernel, ...]:
        """The kernels of a text that are to be rewritten."""
        return tuple(each for each in kernels(source) if self.kernels is None or each.name in self.kernels)


class Rewrite(Protocol):
    """A way to change a text. Does nothing where it does not understand it."""

    @property
    def name(self) -> str: ...

    @property
    def thought(self) -> str:
        """Why it may help."""
        ...

    @property
    def treats(self) -> tuple[str, ...]:
        """Kinds of findings of a profile (`Finding.kind`) that it is a remedy for."""
        ...

    @property
    def weight(self) -> float:
        """How likely it is tried, next to others, before anything is known."""
        ...

    @property
    def fresh(self) -> bool:
        """Whether it starts from the problem's own kernel, not from the parent."""
        ...

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        """Results of applying it once, in the order in which they should be tried."""
        ...


def shuffled(changes: list[Change], random: Random) -> Iterator[Change]:
    """All changes in random order."""
    random.shuffle(changes)
    return iter(changes)
