"""Outputs by one number: what rewrites that give threads other outputs than the original share."""

from __future__ import annotations

from collections.abc import Iterator

from evoengineer.propose.rewriter.row_printing import STEP
from evoengineer.propose.syntax.nest import Nest
from evoengineer.propose.syntax.tree import NotUnderstood


def total_of(nest: Nest) -> str:
    """The number of a nest's outputs, in terms of parameters, also of those that the nest is `told`."""
    if any(dim.grid for dim in nest.dims if nest.linears) or len(nest.linears) > 1:
        raise NotUnderstood("outputs that are numbered in several ways")
    if not nest.linears:
        return " * ".join(f"static_cast<int64_t>({dim.extent})" for dim in nest.dims)
    (linear,) = nest.linears
    if set(linear.dims) != {dim.name for dim in nest.dims}:
        raise NotUnderstood("outputs that are numbered in several ways")
    return f"static_cast<int64_t>({linear.size})"


def indices(nest: Nest, number: str) -> Iterator[str]:
    """Declarations of what the body calls the output with this number."""
    divisor = ""
    for place, dim in enumerate(nest.dims):
        value = f"{number}{divisor}"
        if place + 1 < len(nest.dims):
            value += f" % ({dim.extent})"
            divisor += f" / ({dim.extent})"
        yield f"{STEP}const {dim.type} {dim.name} = {value};\n"
    for linear in nest.linears:
        if linear.name.isidentifier() and linear.name not in {dim.name for dim in nest.dims}:
            yield f"{STEP}const {linear.type} {linear.name} = {number};\n"
