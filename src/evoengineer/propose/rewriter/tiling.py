"""The rewrite that tiles: every nest of a text, by the schedules of `tile.py` that suit the sizes that count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from evoengineer.propose.rewriter.change import Change, Task
from evoengineer.propose.rewriter.schedules import assumptions, schedules
from evoengineer.propose.rewriter.tile import Schedule, analysed, tiled
from evoengineer.propose.syntax.arithmetic import value_of
from evoengineer.propose.syntax.dependence import Dependence
from evoengineer.propose.syntax.host import host_values
from evoengineer.propose.syntax.kernels import kernels
from evoengineer.propose.syntax.nest import Nest, nest_of
from evoengineer.propose.syntax.tree import NotUnderstood

_LARGEST_ASSUMED = 16  # a loop of more iterations is not worth unrolling whole
_FEW_BLOCKS = 64  # less leaves most of a card idle


@dataclass(frozen=True, slots=True)
class Tiling:
    """The rewrite of this module."""

    name: str = "tile"
    thought: str = (
        "A thread that computes several outputs loads what they share once, keeps sums in registers and has "
        "independent work to hide latency; staged operands are loaded once for the whole block."
    )
    treats: tuple[str, ...] = ("l1_bound", "l2_bound", "issue_bound", "latency_bound", "uncoalesced")
    weight: float = 4.0  # it changes more than a constant does
    fresh: bool = True

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]:
        for kernel in random.sample(found := kernels(source), len(found)):
            try:
                nest = nest_of(source, kernel)
                dependence = analysed(source, nest)
            except NotUnderstood:
                continue
            values = host_values(nest.launch, task.arguments)
            special = _assumed(nest, assumptions(nest), values)
            ranked = [
                (place * random.uniform(0.3, 1.7), schedule)
                for place, schedule in enumerate(_fitting(nest, dependence, schedules(nest, dependence), values))
            ]
            for _, schedule in sorted(ranked, key=lambda each: each[0]):
                if special and random.random() < 0.85:
                    schedule = replace(schedule, assumed=special)
                try:
                    yield Change(
                        f"{kernel.name} in {schedule.words}", tiled(source, nest, dependence, schedule)
                    )
                except NotUnderstood:
                    continue


def _assumed(nest: Nest, names: tuple[str, ...], values: dict[str, int]) -> tuple[tuple[str, int], ...]:
    """The parameters that have small known values."""
    found = []
    for name in names:
        value = _value(nest, name, values)
        if value is not None and 0 <= value <= _LARGEST_ASSUMED:
            found.append((name, value))
    return tuple(found)


def _value(nest: Nest, expression: str, values: dict[str, int]) -> int | None:
    try:
        return value_of(nest.on_host(expression), values)
    except NotUnderstood:
        return None


def _fitting(
    nest: Nest, dependence: Dependence, found: Iterator[Schedule], values: dict[str, int]
) -> Iterator[Schedule]:
    """Schedules whose tiles are not much larger than the outputs; those that leave few blocks come last."""
    groups = [(each.dim, _value(nest, each.size, values)) for each in dependence.groups.values()]
    extents = {dim.name: _value(nest, dim.grid or dim.extent, values) for dim in nest.dims}
    few: list[tuple[int, Schedule]] = []
    for schedule in found:
        blocks = 1
        tiles = {side.dim: side.threads * side.each for side in schedule.sides}
        fits = all(size is None or size % tiles.get(dim, 1) == 0 for dim, size in groups)
        for dim in nest.dims:
            extent = extents[dim.name]
            tile = tiles.get(dim.name, 1)
            if extent is None:
                blocks *= _FEW_BLOCKS
                continue
            count = -(-extent // tile)
            blocks *= count
            fits = fits and (tile == 1 or count * tile <= 1.5 * extent)
        if fits and blocks >= _FEW_BLOCKS:
            yield schedule
        elif fits:
            few.append((blocks, schedule))
    yield from (schedule for _, schedule in sorted(few, key=lambda each: -each[0]))
