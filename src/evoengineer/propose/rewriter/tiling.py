"""The rewrite that tiles: every nest of a text, by the schedules of `tile.py` that suit the sizes that count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from random import Random

from evoengineer.propose.rewriter.change import Change, Task
from evoengineer.propose.rewriter.schedules import assumptions, schedules
from evoengineer.propose.rewriter.splitting import split, sum_of
from evoengineer.propose.rewriter.tile import Schedule, analysed, tiled
from evoengineer.propose.rewriter.turning import along_stores
from evoengineer.propose.syntax.arithmetic import value_of
from evoengineer.propose.syntax.dependence import Dependence
from evoengineer.propose.syntax.host import host_values
from evoengineer.propose.syntax.kernels import kernels
from evoengineer.propose.syntax.nest import Nest, nest_of
from evoengineer.propose.syntax.spreading import spread
from evoengineer.propose.syntax.tree import NotUnderstood, text
from evoengineer.propose.syntax.unstaging import unstaged

_LARGEST_ASSUMED = 64  # larger ones gain nothing from being known when the kernel is compiled
_FEW_BLOCKS = 64  # less leaves most of a card idle
_ENOUGH_BLOCKS = 192  # for a sum in parts
_SHORT = 32  # iterations of a part of a sum, at least


@dataclass(frozen=True, slots=True)
class Tiling:
    """The rewrite of this module."""

    name: str = "tile"
    thought: str = (
        "A thread that computes several outputs loads what they share once, keeps sums in registers and has "
        "independent work to hide latency; staged operands are loaded once for the whole block."
    )
    treats: tuple[str, ...] = ("l1_bound", "l2_bound", "issue_bound", "latency_bound", "uncoalesced")
    weight: float = 8.0  # it changes more than a constant does
    fresh: bool = True

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        """Every kernel that can be tiled is tiled at once: a text with two is not held back by the other."""
        source = unstaged(source)
        streams = {kernel.name: _ways(source, kernel.name, task, random) for kernel in task.open(source)}
        latest: dict[str, Schedule] = {}
        while streams:
            written, words = source, []
            for name in [*streams, *(name for name in latest if name not in streams)]:
                tried = _next(written, name, task, streams, latest)
                if tried is not None:
                    written = tried
                    words.append(f"{name} in {latest[name].words}")
            if words and streams:
                yield Change("; ".join(words), written)


def _next(
    source: str,
    name: str,
    task: Task,
    streams: dict[str, Iterator[Schedule]],
    latest: dict[str, Schedule],
) -> str | None:
    """The text with a kernel tiled by the next schedule that is possible; the last one stays when all are tried."""
    while name in streams:
        schedule = next(streams[name], None)
        if schedule is None:
            del streams[name]
            break
        try:
            changed = _tiled(source, name, task, schedule)
        except NotUnderstood:
            continue
        latest[name] = schedule
        return changed
    return _tiled(source, name, task, latest[name]) if name in latest else None


@lru_cache(maxsize=16)
def _analysis(source: str, name: str) -> tuple[Nest, Dependence]:
    nest = along_stores(spread(nest_of(source, next(each for each in kernels(source) if each.name == name))))
    return nest, analysed(source, nest)


def _tiled(source: str, name: str, task: Task, schedule: Schedule) -> str:
    if schedule.parts > 1:
        source, name = split(source, _analysis(source, name)[0], schedule.parts)
    nest, dependence = _analysis(source, name)
    return tiled(source, nest, dependence, schedule, host_values(nest.launch, task.arguments))


def _ways(source: str, name: str, task: Task, random: Random) -> Iterator[Schedule]:
    """Schedules of a kernel, the most promising first but for chance; some may turn out to be impossible."""
    try:
        nest, dependence = _analysis(source, name)
    except NotUnderstood:
        return
    values = host_values(nest.launch, task.arguments)
    special = _assumed(nest, assumptions(nest), values)
    possible = _Possible(source, nest, dependence)
    card, iterations = task.multiprocessors, _iterations(nest, values)
    found = schedules(nest, dependence, dict(special), _extents(nest, values), card)
    ranked = [
        (place * random.uniform(0.3, 1.7), schedule)
        for place, schedule in enumerate(_fitting(nest, dependence, filter(possible, found), values, card))
    ]
    odd = {name for name, size in _extents(nest, values).items() if size % 4} if not iterations % 4 else {""}
    plain = [
        replace(schedule, wide=not (odd & {"", *(side.dim for side in schedule.sides)}))
        for _, schedule in sorted(ranked, key=lambda each: each[0])
    ]
    ways = [_with_fewer_registers(schedule) for schedule in plain]
    # Both ways of the first tile tell what registers are worth; of the others one comes first, knobs can do the rest.
    ordered = [*chain(*ways[:1]), *(each[-1] for each in ways[1:]), *chain(*(each[:-1] for each in ways[1:]))]
    if special:  # a version for these sizes hardly ever loses
        yield from (replace(schedule, assumed=special) for schedule in ordered)
    yield from ordered


def _with_fewer_registers(schedule: Schedule) -> tuple[Schedule, ...]:
    """Staged operands leave the compiler little to gain from more registers than they need. Where operands come through
    the caches, a schedule is tried as it is, and with more blocks to hide latency."""
    if schedule.step:
        return (replace(schedule, resident=schedule.together),)
    if schedule.preload and schedule.together > 1:
        return schedule, replace(schedule, resident=schedule.together)
    return (schedule,)


class _Possible:
    """Whether operands can be staged, or preloaded, in tiles along these dimensions: tried once for all sizes."""

    def __init__(self, source: str, nest: Nest, dependence: Dependence) -> None:
        self.source, self.nest, self.dependence = source, nest, dependence
        self._known: dict[tuple[bool, bool, bool, bool, tuple[str, ...]], bool] = {}

    def __call__(self, schedule: Schedule) -> bool:
        dims = tuple(side.dim for side in schedule.sides)
        key = (schedule.step > 0, schedule.preload, schedule.turned, schedule.inside, dims)
        if key not in self._known:
            try:
                tiled(self.source, self.nest, self.dependence, schedule)
                self._known[key] = True
            except NotUnderstood:
                self._known[key] = False
        return self._known[key]


def _assumed(nest: Nest, names: tuple[str, ...], values: dict[str, int]) -> tuple[tuple[str, int], ...]:
    """The parameters that have small known values."""
    found = []
    for name in names:
        value = _value(nest, name, values)
        if value is not None and 0 <= value <= _LARGEST_ASSUMED:
            found.append((name, value))
    return tuple(found)


def _iterations(nest: Nest, values: dict[str, int]) -> int:
    """How long the sum of every output is; 0 when there is no such sum or it is not known."""
    try:
        loop = sum_of(nest).loop
    except NotUnderstood:
        return 0
    first, last = _value(nest, text(loop.first), values), _value(nest, text(loop.last), values)
    return 0 if first is None or last is None else last - first


def _value(nest: Nest, expression: str, values: dict[str, int]) -> int | None:
    try:
        return value_of(nest.on_host(expression), values)
    except NotUnderstood:
        return None


def _extents(nest: Nest, values: dict[str, int]) -> dict[str, int]:
    """The dimensions' sizes, as far as they are known."""
    found = {dim.name: _value(nest, dim.grid or dim.extent, values) for dim in nest.dims}
    return {name: size for name, size in found.items() if size is not None}


def _fitting(
    nest: Nest,
    dependence: Dependence,
    found: Iterable[Schedule],
    values: dict[str, int],
    multiprocessors: int,
) -> Iterator[Schedule]:
    """Schedules whose tiles are not much larger than the outputs; those that leave few blocks come last.
    Both they and those that leave multiprocessors without a block come with sums in parts first."""
    groups = [(each.dim, _value(nest, each.size, values)) for each in dependence.groups.values()]
    extents = _extents(nest, values)
    iterations = _iterations(nest, values)
    few: list[tuple[int, Schedule]] = []
    for schedule in found:
        blocks = 1
        tiles = {side.dim: side.threads * side.each for side in schedule.sides}
        fits = all(size is None or size % tiles.get(dim, 1) == 0 for dim, size in groups)
        for dim in nest.dims:
            extent = extents.get(dim.name)
            tile = tiles.get(dim.name, 1)
            if extent is None:
                blocks *= _FEW_BLOCKS
                continue
            count = -(-extent // tile)
            blocks *= count
            fits = fits and (tile == 1 or count * tile <= 1.5 * extent)
        if fits and blocks >= _FEW_BLOCKS:
            parts = 2 * multiprocessors // blocks if blocks < multiprocessors else 1
            if schedule.step and parts > 1 and parts * _SHORT <= iterations:
                yield replace(schedule, parts=1 << parts.bit_length() - 1)
            yield schedule
        elif fits:
            few.append((blocks, schedule))
            parts = 1 << (_ENOUGH_BLOCKS // blocks).bit_length()
            if parts * _SHORT <= iterations:
                yield replace(schedule, parts=parts)
    yield from (schedule for _, schedule in sorted(few, key=lambda each: -each[0]))
