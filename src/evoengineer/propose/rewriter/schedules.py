"""Which tiles to try: schedules for a nest, the most promising first, and parameters worth a special version."""

from __future__ import annotations

from collections.abc import Iterator

from evoengineer.propose.rewriter.tile import Schedule, Split, is_target
from evoengineer.propose.rewriter.widening import counted
from evoengineer.propose.syntax.dependence import Dependence, is_load, target_of
from evoengineer.propose.syntax.nest import Nest
from evoengineer.propose.syntax.tree import field, operator, text, walk

# Threads along both dimensions of a product-like nest, and outputs of each.
_SQUARES = (
    (16, 8, 4, 8),
    (16, 16, 8, 8),
    (32, 8, 4, 8),
    (16, 16, 4, 4),
    (8, 16, 8, 4),
    (16, 16, 2, 2),
    (16, 8, 1, 2),
)
# Threads along the fastest dimension only, and outputs of each along both.
_STRIPS = (
    (128, 2, 8),
    (64, 1, 8),
    (128, 4, 4),
    (128, 1, 16),
    (256, 1, 4),
)
# Threads along the two fastest dimensions, and outputs of each along a third, too.
_PLANES = (
    (16, 8, 2, 1, 8),
    (8, 8, 4, 1, 8),
    (16, 8, 1, 2, 8),
    (16, 8, 1, 1, 16),
    (16, 8, 2, 2, 4),
    (32, 4, 1, 1, 8),
    (16, 8, 1, 1, 8),
    (16, 16, 1, 1, 4),
)
_LINES = ((256, 4), (256, 2), (128, 4), (256, 8))


def schedules(nest: Nest, found: Dependence) -> Iterator[Schedule]:
    """Ways to tile a nest, without special versions. Those that stage may turn out to be impossible."""
    fastest = nest.dims[0].name
    shared = {dim.name: _shared_loads(nest, found, dim.name, fastest) for dim in nest.dims[1:]}
    others = sorted((name for name in shared if shared[name] > 0), key=lambda name: -shared[name])
    for other in others[:2]:
        yield from _squares(fastest, other, (16, 8))
        second = nest.dims[1].name
        if second != other:
            for across, along, first, middle, last in _PLANES:
                yield Schedule((
                    Split(fastest, across, first), Split(second, along, middle), Split(other, 1, last, True)
                ))  # fmt: skip
        for threads, first, last in _STRIPS:
            yield Schedule((Split(fastest, threads, first), Split(other, 1, last, True)))
    for other in others[:2]:
        yield from _squares(fastest, other, (0,))
    if not others:
        for threads, each in _LINES:
            for adjacent in (False, True):
                yield Schedule((Split(fastest, threads, each, adjacent),))


def _squares(fastest: str, other: str, steps: tuple[int, ...]) -> Iterator[Schedule]:
    for across, along, first, last in _SQUARES:
        for adjacent in (True, False):
            sides = (Split(fastest, across, first, adjacent), Split(other, along, last, True))
            for step in steps:
                yield Schedule(sides, step)


def assumptions(nest: Nest, found: Dependence) -> tuple[str, ...]:
    """Parameters worth a special version: bounds of inner loops, and divisors."""
    parameters = {each.name for each in nest.kernel.parameters if not each.is_pointer}
    extents = " ".join(dim.extent for dim in nest.dims)
    names: dict[str, None] = {}
    for statement in nest.body:
        for node in walk(statement):
            if node.type == "for_statement":
                loop = counted(node)
                inner = not any(each.type == "for_statement" for each in walk(field(node, "body")))
                nested = node.parent is not None and node not in nest.body
                if loop is not None and (inner or nested):
                    names[text(loop.last)] = None
            elif node.type == "binary_expression" and operator(node) in ("/", "%"):
                names[text(field(node, "right"))] = None
    changed = {text(each) for statement in nest.body for node in walk(statement)
               if (each := target_of(node)) is not None}  # fmt: skip
    return tuple(
        name
        for name in names
        if name.split(".")[0] in parameters
        and name.replace(".", "").isidentifier()
        and name.split(".")[0] not in changed
        and name not in extents
    )


def _shared_loads(nest: Nest, found: Dependence, dim: str, fastest: str) -> int:
    """How much outputs along the dimension can share: loads that do not depend on it. One that differs between
    the threads of a warp counts most."""
    loads = [
        found.of(node)
        for statement in nest.body
        for node in walk(statement)
        if is_load(node) and not is_target(node)
    ]
    return sum(10 if fastest in dims else 1 for dims in loads if dim not in dims)
