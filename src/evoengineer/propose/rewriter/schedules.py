"""Which tiles to try: schedules for a nest, the most promising first, and parameters worth a special version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evoengineer.propose.rewriter.tile import Schedule, Split
from evoengineer.propose.rewriter.widening import counted
from evoengineer.propose.syntax.dependence import Dependence, is_load, is_target, target_of
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
# The same where outputs differ in how long they take: small tiles even that out.
_SMALL_SQUARES = (
    (8, 8, 4, 4),
    (16, 8, 4, 4),
    (16, 16, 2, 2),
    (16, 16, 4, 4),
    (16, 8, 4, 8),
)
# Threads along the fastest dimension only, and outputs of each along both.
_STRIPS = (
    (128, 2, 16),
    (128, 4, 8),
    (128, 2, 8),
    (64, 4, 8),
    (128, 1, 16),
    (256, 1, 8),
)
# Threads along the two fastest dimensions, and outputs of each along them and along a third.
_PLANES = (
    (16, 8, 2, 1, 16),
    (16, 8, 2, 2, 8),
    (16, 8, 1, 2, 16),
    (8, 8, 4, 1, 8),
    (16, 8, 2, 1, 8),
    (32, 4, 1, 2, 8),
    (16, 8, 1, 1, 16),
    (16, 16, 1, 1, 8),
)
_LINES = ((256, 4), (256, 2), (128, 4), (256, 8))


def schedules(nest: Nest, found: Dependence, assumed: Mapping[str, int]) -> Iterator[Schedule]:
    """Ways to tile a nest, without special versions. Those that stage may turn out to be impossible."""
    fastest = nest.dims[0].name
    shared = {dim.name: _shared_loads(nest, found, dim.name, fastest) for dim in nest.dims[1:]}
    others = sorted((name for name in shared if shared[name] > 0), key=lambda name: -shared[name])
    strides = _strides(nest, found, assumed)
    squares = _SMALL_SQUARES if _is_uneven(nest, found) else _SQUARES
    for other in others[:2]:
        yield from _squares(squares, fastest, other, (16, 8))
        second = nest.dims[1].name
        for preload in (True, False):
            planes = _PLANES if second != other else ()
            for across, along, first, middle, last in sorted(
                planes, key=lambda each: each[2] % strides.get(fastest, 1) + each[3] % strides.get(second, 1)
            ):
                sides = (
                    Split(fastest, across, first, fastest in strides),
                    Split(second, along, middle, True),
                    Split(other, 1, last, True),
                )
                yield Schedule(sides, preload=preload, edges_apart=True)
            for threads, first, last in _STRIPS if second == other or not preload else ():
                strip = (Split(fastest, threads, first, fastest in strides), Split(other, 1, last, True))
                yield Schedule(strip, preload=preload, edges_apart=True)
    for other in others[:2]:
        yield from _squares(squares, fastest, other, (0,))
    if not others and (len(nest.dims) > 1 or not _has_loop(nest)):
        for threads, each in _LINES:
            for adjacent in (False, True):
                yield Schedule((Split(fastest, threads, each, adjacent),))


def _strides(nest: Nest, found: Dependence, assumed: Mapping[str, int]) -> dict[str, int]:
    """Dimensions along which every so many outputs do the same, because of a test such as `(column + p) % 2 != 0`.
    A thread that computes so many side by side needs no test at run time."""
    strides: dict[str, int] = {}
    for statement in nest.body:
        for node in walk(statement):
            if node.type == "binary_expression" and operator(node) == "%":
                parent = node.parent
                if parent is None or operator(parent) not in ("!=", "=="):
                    continue
                value = assumed.get(text(field(node, "right")), 1)
                for dim in found.of(field(node, "left")):
                    strides[dim] = max(value, strides.get(dim, 1))
    return {dim: value for dim, value in strides.items() if value > 1}


def _has_loop(nest: Nest) -> bool:
    return any(node.type == "for_statement" for statement in nest.body for node in walk(statement))


def _is_uneven(nest: Nest, found: Dependence) -> bool:
    """Whether outputs differ in how many iterations they take."""
    loops = [
        loop
        for statement in nest.body
        for node in walk(statement)
        if node.type == "for_statement" and (loop := counted(node)) is not None
    ]
    return any(found.of(loop.first, loop.last) for loop in loops)


def _squares(
    squares: Sequence[tuple[int, int, int, int]], fastest: str, other: str, steps: tuple[int, ...]
) -> Iterator[Schedule]:
    for across, along, first, last in squares:
        for adjacent in (True, False):
            sides = (Split(fastest, across, first, adjacent), Split(other, along, last, True))
            for step in steps:
                yield Schedule(sides, step)


def assumptions(nest: Nest) -> tuple[str, ...]:
    """Parameters that may be worth a special version: what the body reads of them and the extents do not."""
    parameters = {each.name for each in nest.kernel.parameters if not each.is_pointer}
    extents = " ".join(dim.extent for dim in nest.dims)
    names: dict[str, None] = {}
    changed = set()
    for statement in nest.body:
        for node in walk(statement):
            target = target_of(node)
            if target is not None:
                changed.add(text(target))
            if node.type == "field_expression" or (
                node.type == "identifier"
                and node.parent is not None
                and node.parent.type != "field_expression"
            ):
                names[text(node)] = None
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
