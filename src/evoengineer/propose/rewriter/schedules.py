"""Which tiles to try: schedules for a nest, the most promising first, and parameters worth a special version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from tree_sitter import Node

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
# Threads along the second dimension, and outputs of each, where operands are turned in tiles of 32 along the first.
_TURNED = ((8, 4), (4, 8), (16, 2), (32, 1), (8, 8))
# Threads along the fastest dimension and the next, and outputs of each, where neighbours load the same places.
_WINDOWS = ((32, 8, 4), (32, 4, 8), (32, 8, 8), (64, 4, 4), (32, 8, 2))
_FEW_LOADS = 4  # of a computation without loops whose neighbours share nothing worth mentioning
_WARP = 32
_OUTPUTS = 4096  # of a block that reads operands often enough
_READY = 1.15  # planes of the list are taken as they are where no more than this is computed for an output
_READY_MADE = 3
_FITTED = 10  # squares and planes that are made to measure


def schedules(
    nest: Nest,
    found: Dependence,
    assumed: Mapping[str, int],
    extents: Mapping[str, int] | None = None,
    multiprocessors: int = 0,
) -> Iterator[Schedule]:
    """Ways to tile a nest, without special versions. Those that stage may turn out to be impossible. `extents` are
    what is known of the dimensions for the sizes that count."""
    known = extents or {}
    fastest = nest.dims[0].name
    shared = {dim.name: _shared_loads(nest, found, dim.name, fastest) for dim in nest.dims[1:]}
    others = sorted((name for name in shared if shared[name] > 0), key=lambda name: -shared[name])
    strides = _strides(nest, found, assumed)
    uneven = _is_uneven(nest, found)
    squares = {
        other: _SMALL_SQUARES if uneven else _fitted_squares(known, fastest, other, multiprocessors)
        for other in others[:2]
    }
    if _is_window(nest, found):
        yield from _windows([dim.name for dim in nest.dims])
    if not _has_loop(nest):
        for dim in nest.dims[1:]:
            for along, each in _TURNED:
                yield Schedule((Split(fastest, 32, 1), Split(dim.name, along, each)), turned=True)
    for other in others[:2]:
        yield from _squares(squares[other], fastest, other, (16, 8))
        second = nest.dims[1].name
        for preload in (True, False):
            planes: Sequence[tuple[int, int, int, int, int]] = ()
            if second != other:
                planes = _fitted_planes(known, strides, (fastest, second, other), multiprocessors)
            for across, along, first, middle, last in planes:
                sides = (
                    Split(fastest, across, first, fastest in strides),
                    Split(second, along, middle, True),
                    Split(other, 1, last, True),
                )
                yield Schedule(sides, preload=preload, edges_apart=True)
            strips = _fitted_strips(known, fastest, other) if second == other or not preload else ()
            for threads, first, last in strips:
                strip = (Split(fastest, threads, first, fastest in strides), Split(other, 1, last, True))
                yield Schedule(strip, preload=preload, edges_apart=True)
    for other in others[:2]:
        yield from _squares(_SMALL_SQUARES if uneven else _SQUARES, fastest, other, (0,))
    if not others and (len(nest.dims) > 1 or not _has_loop(nest)):
        yield from _several_lines([dim.name for dim in nest.dims], known)
        for threads, each in _LINES:
            for adjacent in (False, True):
                yield Schedule((Split(fastest, threads, each, adjacent),))


def _windows(dims: Sequence[str]) -> Iterator[Schedule]:
    """Threads in a plane; the outputs of one lie along its second dimension, or behind each other."""
    for across, along, each in _WINDOWS:
        flat = (Split(dims[0], across, 1), Split(dims[1], along, each, True))
        yield Schedule(flat, edges_apart=True, inside=True)
        if len(dims) > 2:
            deep = (Split(dims[0], across, 1), Split(dims[1], along, 1), Split(dims[2], 1, each, True))
            yield Schedule(deep, edges_apart=True, inside=True)


def _several_lines(dims: Sequence[str], extents: Mapping[str, int]) -> Iterator[Schedule]:
    """Where lines are shorter than a block: threads, or warps, for whole lines, and several lines in a block."""
    width = extents.get(dims[0], 0)
    if len(dims) < 2 or not _WARP // 2 <= width < 512:
        return
    for first, threads in product((1, 2, 3, 4, 6, 8), (256, 128)):
        across = -(-width // first)
        if _WARP // 2 <= across <= threads and _computed(width, first) <= _READY:
            yield Schedule((Split(dims[0], across, first), Split(dims[1], threads // across, 1)))


def _fitted_squares(
    extents: Mapping[str, int], fastest: str, other: str, multiprocessors: int
) -> Sequence[tuple[int, int, int, int]]:
    """Squares by what an output costs: loads from shared memory and into it, blocks that the busiest multiprocessor
    computes more than others, and few warps to hide latency with. `_SQUARES` where the extents are not known."""
    if fastest not in extents or other not in extents:
        return _SQUARES
    width, height = extents[fastest], extents[other]
    rest = prod(size for name, size in extents.items() if name not in (fastest, other))
    if width * height * rest < _OUTPUTS * multiprocessors:
        return _SQUARES  # whatever the tiles are, blocks will have to share sums
    costs: dict[tuple[int, int, int, int], float] = {}
    for across, along, first, last in product((8, 16, 32), (4, 8, 16), (2, 4, 6, 8, 12), (2, 4, 6, 8, 12)):
        threads = across * along
        if not 64 <= threads <= 256 or not 8 <= first * last <= 96:
            continue
        blocks = -(-width // (across * first)) * -(-height // (along * last)) * rest
        busiest = -(-blocks // multiprocessors) if multiprocessors else blocks
        # Wavefronts of a warp for the operands of one step of the sum, and for its share of bringing them there.
        read = _wavefronts(first) + _wavefronts(last)
        brought = 2.5 * (across * first + along * last) / threads
        loads = 4 * (read + brought) / (first * last)  # a wavefront takes as long as four products of a warp
        room = max(1, 65536 // (threads * (64 + first * last * 3 // 2)))
        warps = min(busiest, room) * threads / _WARP
        outputs = busiest * across * first * along * last
        costs[across, along, first, last] = outputs * (max(1, loads) + min(1, loads) / 2) * (1 + 4 / warps)
    return sorted(costs, key=lambda each: costs[each])[:_FITTED]


def _wavefronts(count: int) -> float:
    """Of a warp whose lanes read so many neighbours from shared memory, pairs of lanes the same ones: four at a time
    take two, and so much time goes by before the next request whatever this one wants."""
    return count / 2 if count % 4 == 0 else count if count % 2 == 0 else 2 * count


def _fitted_strips(extents: Mapping[str, int], fastest: str, other: str) -> Sequence[tuple[int, int, int]]:
    """`_STRIPS`; where lines are so short that these would leave threads without outputs, strips of their length."""
    width, height = extents.get(fastest, 0), extents.get(other, 0)
    if not 32 <= width < 1024 or _computed(width, 128) <= _READY:
        return _STRIPS
    fitted = [
        (threads, first, last)
        for last, first, threads in product((8, 4, 16, 2), (1, 2, 4), range(32, 257))
        if last <= height and width % (threads * first) == 0 and width // (threads * first) <= 2
    ]
    return (*fitted[:_FITTED], *_STRIPS)


def _fitted_planes(
    extents: Mapping[str, int], strides: Mapping[str, int], dims: tuple[str, str, str], multiprocessors: int
) -> list[tuple[int, int, int, int, int]]:
    """Planes by what an output costs: work for outputs that do not exist, lanes without a thread, loads per product,
    and as for squares. Where the extents are not known, those of `_PLANES` that suit the strides best."""
    across_stride, along_stride = strides.get(dims[0], 1), strides.get(dims[1], 1)
    if not all(name in extents for name in dims):
        return sorted(_PLANES, key=lambda each: each[2] % across_stride + each[3] % along_stride)
    width, height, depth = (extents[name] for name in dims)
    rest = prod(size for name, size in extents.items() if name not in dims)
    costs: dict[tuple[int, int, int, int, int], float] = {}
    for first, middle, last in product(
        (across_stride, across_stride * 2, across_stride * 4), (along_stride, along_stride * 2), (4, 8, 16)
    ):
        each = first * middle * last
        if each > 48 or last > depth:
            continue
        for columns, rows in product(range(1, 17), range(1, height + 1)):
            across, along = -(-width // (columns * first)), -(-height // (rows * middle))
            threads = across * along
            if not 64 <= threads <= 256 or across < 4:
                continue
            blocks = columns * rows * -(-depth // last) * rest
            busiest = -(-blocks // multiprocessors) if multiprocessors else blocks
            lanes = -(-threads // _WARP) * _WARP
            together = min(busiest, max(1, 65536 // (lanes * min(255, 64 + 4 * each))))
            # A load takes four times as long as a product; shared operands come four at a time, and short
            # lines of others bring more than is used.
            costs[across, along, first, middle, last] = (
                (busiest * lanes * each)
                * (1 + 4 / last * (1 + 8 / (across * first)) + 1 / (first * middle))
                * (1 + 2 * _WARP / (together * lanes))
            )
    fitted = sorted(costs, key=lambda each: costs[each])[:_FITTED]
    ready = [
        each
        for each in _PLANES
        if not each[2] % across_stride
        and not each[3] % along_stride
        and _computed(width, each[0] * each[2]) * _computed(height, each[1] * each[3]) <= _READY
    ]
    return list(dict.fromkeys([*ready[:_READY_MADE], *fitted])) or list(_PLANES)


def _computed(extent: int, tile: int) -> float:
    """How much is computed for every output that exists."""
    return -(-extent // tile) * tile / extent


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


def _is_window(nest: Nest, found: Dependence) -> bool:
    """Whether every output has loads of its own, but neighbours load many of the same places: filters, stencils."""
    dims = frozenset(dim.name for dim in nest.dims)
    plane = frozenset(dim.name for dim in nest.dims[:2])
    looped = _has_loop(nest)
    own = 0
    for statement in nest.body:
        for node in walk(statement):
            if not is_load(node) or is_target(node) or (looped and not _is_in_loop(node)):
                continue
            if found.of(node) != dims and found.of(node) & plane:
                return False
            own += found.of(node) == dims
    return len(dims) > 1 and own >= (1 if looped else _FEW_LOADS)


def _is_in_loop(node: Node) -> bool:
    outer = node.parent
    while outer is not None and outer.type != "for_statement":
        outer = outer.parent
    return outer is not None


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
    for adjacent in (True, False):
        for across, along, first, last in squares:
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
