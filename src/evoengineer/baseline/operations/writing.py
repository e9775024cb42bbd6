"""What a writer of an operation's call sees, and the questions that all writers ask of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import torch

Given = Mapping[str, Any]  # an operation's arguments by their names in its schema


class Unsupported(Exception):
    """An operation, or a form of it, that the library has no kernel for."""


class Writing(Protocol):
    """The text in the making."""

    def use(self, fragment: str) -> None:
        """The text needs this part of the library."""
        ...

    def functor(self, name: str, formula: str, arguments: str, values: Mapping[str, Any]) -> str:
        """An object that computes a formula; numbers of `values` stand in for {name}."""
        ...

    def tensor(self, value: Any) -> str:
        """A tensor's name; an undefined tensor for None."""
        ...

    def whole(self, value: Any) -> str:
        """A whole number, which may follow from sizes."""
        ...

    def dims(self, values: Sequence[Any]) -> str:
        """A list of them."""
        ...

    def real(self, value: Any) -> str:
        """A floating-point number."""
        ...

    def anyone(self) -> str:
        """Some tensor on the device, for what is made from nothing."""
        ...


Writer = Callable[[Writing, Given], str]


def is_tensor(value: Any) -> bool:
    """A node whose value is a tensor; others are sizes."""
    return isinstance(value, torch.fx.Node) and not isinstance(
        value.meta.get("val"), (torch.SymInt, torch.SymFloat, int, float)
    )


def is_sized(value: Any) -> bool:
    """Does a number follow from sizes?"""
    return isinstance(value, torch.fx.Node)


def dims_of(given: Given) -> list[Any]:
    """The dimensions an operation goes along; none stands for all of them."""
    dims = given.get("dim")
    return [] if dims is None else list(dims) if isinstance(dims, (list, tuple)) else [dims]


def flag(value: Any) -> str:
    """A truth value in C++."""
    return "true" if value else "false"


def per_dimension(values: Any, rank: int) -> list[Any]:
    """One number for each dimension; one may stand for all."""
    several: list[Any] = list(values) if isinstance(values, (list, tuple)) else [values]
    return several * rank if len(several) == 1 else several
