"""Other sizes for a KernelBench file, which has one shape: a bench case that fits, and check cases.

The sizes of such a file are whole-number constants of its module. They are changed only in a way that the model
itself accepts, so every choice here is tried by the caller's `Trial`: what the model costs with these sizes, and
whether it really runs.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

Sizes = dict[str, int]

# A kernel is judged whole on the simulated GPU, which takes about as long as a loop of C: seconds for these.
MOST_BENCH_BYTES = 64 << 20
MOST_BENCH_FLOPS = 1 << 31
_MOST_CHECK_BYTES = 1 << 20
_MOST_CHECK_FLOPS = 4e6
_SEVERAL_TILES = 1200  # elements of the largest tensor
_SMALL = 8  # constants up to this are windows, strides and the like, and stay
_ODD = (13, 27)  # a constant that may be these may be anything
_PLACE = "__"  # between the name of a tuple and the place of a number in it

# Sizes handed out to the constants in turn, ever larger until the tensors are several tiles large. Nothing is a
# multiple of anything; then, rows that vector loads fit, an odd number of them; other proportions; the least.
_AWKWARD = (
    (3, 5, 7, 11), (5, 7, 13, 11), (7, 11, 17, 13), (3, 13, 29, 31), (5, 37, 61, 19), (11, 131, 31, 37),
    (37, 61, 53, 43), (4099,),
)  # fmt: skip
_ALIGNED = (
    (3, 8, 16, 32), (5, 16, 32, 32), (3, 12, 32, 64), (37, 64, 96, 32), (13, 320, 32, 32), (64, 32, 32, 32), (4128,),
)  # fmt: skip
_UNEVEN = (
    (2, 17, 9, 23), (9, 3, 19, 21), (2, 33, 35, 27), (17, 67, 5, 9), (61, 41, 53, 7), (2, 1021, 9, 7), (8191,),
)  # fmt: skip
_SLIM = (
    (31, 3, 9, 10), (129, 6, 5, 7), (67, 1, 131, 3), (1, 65, 129, 5), (257, 10, 3, 3), (43, 97, 29, 3), (2053,),
)  # fmt: skip
_LEAST = ((1, 1, 1, 1), (1, 2, 3, 1), (2, 3, 4, 5), (9, 9, 9, 9))


@dataclass(frozen=True, slots=True)
class Cost:
    """What a model is with given sizes."""

    bytes: int  # inputs, state and outputs
    flops: int
    largest: int  # elements of the largest input or output
    shapes: tuple[tuple[int, ...], ...]  # of inputs and state: what a kernel can see of the sizes
    aligned: bool  # rows of the main tensors are whole numbers of 16-byte vectors


Trial = Callable[[Sizes], Cost | None]  # None: the model does not run with these sizes
Runs = Callable[[Sizes], bool]


def size_constants(module: types.ModuleType) -> Sizes:
    """Whole numbers of the module that get_inputs or get_init_inputs mention, in order of appearance.

    Those in a tuple are called `name__0`, `name__1` and so on.
    """
    text = "".join(
        inspect.getsource(getattr(module, name))
        for name in ("get_inputs", "get_init_inputs")
        if hasattr(module, name)
    )
    found: Sizes = {}
    for name in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text)):
        value = getattr(module, name, None)
        if type(value) is int and value > 0:
            found[name] = value
        elif isinstance(value, (tuple, list)) and all(type(each) is int and each > 0 for each in value):
            found.update({f"{name}{_PLACE}{place}": each for place, each in enumerate(value)})
    return found


@contextmanager
def resized(module: types.ModuleType, sizes: Mapping[str, int]) -> Iterator[None]:
    """The module with other constants; those in effect before come back afterwards."""
    changed: dict[str, Any] = {}
    for key, size in sizes.items():
        name, _, place = key.partition(_PLACE)
        if place:  # one number of a tuple
            whole = list(changed.get(name, getattr(module, name)))
            whole[int(place)] = size
            changed[name] = tuple(whole)
        else:
            changed[name] = size
    before = {name: getattr(module, name) for name in changed}
    try:
        for name, value in changed.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def seen_sizes(constants: Sizes, trial: Trial) -> list[str]:
    """Constants that show in the shape of an argument. Others (a pool's window, a norm's groups) no kernel receives:
    were they varied, none could be right."""
    own = trial(constants)
    return [name for name in constants if own is None or not _is_hidden(name, constants, own, trial)]


def _is_hidden(name: str, constants: Sizes, own: Cost, trial: Trial) -> bool:
    """Does the model run with other values, and does none of them show?"""
    size, runs = constants[name], False
    for other in (size // 2, *_ODD, size + 1, size * 2):
        cost = trial({**constants, name: other}) if other not in (size, 0) else None
        if cost is not None and cost.shapes != own.shapes:
            return False
        runs = runs or cost is not None
    return runs


def bench_sizes(constants: Sizes, seen: list[str], trial: Trial) -> Sizes:
    """The file's own; sizes of more than a simulated GPU can run are halved, the largest first."""
    sizes, cost = dict(constants), trial(constants)
    while cost is not None and (cost.bytes > MOST_BENCH_BYTES or cost.flops > MOST_BENCH_FLOPS):
        found = next(_smaller(sizes, seen, cost, trial), None)
        if found is None:
            break
        sizes, cost = found
    return sizes


def _smaller(sizes: Sizes, seen: list[str], cost: Cost, trial: Trial) -> Iterator[tuple[Sizes, Cost]]:
    """Cheaper versions: one size halved, the largest first; then all that are equal to it, as they may belong
    together."""
    largest_first = sorted(seen, key=lambda name: -sizes[name])
    alone = [[name] for name in largest_first]
    together = [[name for name in seen if sizes[name] == sizes[first]] for first in largest_first]
    for names in (*alone, *together):
        if sizes[names[0]] > 16:
            smaller = {**sizes, **{name: sizes[name] // 2 for name in names}}
            halved = trial(smaller)
            if halved is not None and (halved.bytes < cost.bytes or halved.flops < cost.flops):
                yield smaller, halved


def check_sizes(constants: Sizes, seen: list[str], trial: Trial, runs: Runs) -> list[Sizes]:
    """Up to five, each of a kind of its own; none if the model takes no other sizes."""
    found: list[Sizes] = []
    groups = _groups(constants, seen, trial)

    def fits(cost: Cost | None) -> bool:
        return cost is not None and cost.bytes <= _MOST_CHECK_BYTES and cost.flops <= _MOST_CHECK_FLOPS

    def first(recipes: tuple[tuple[int, ...], ...], wanted: Callable[[Cost], bool]) -> bool:
        for sizes in _handed_out(constants, groups, recipes):
            cost = trial(sizes)
            if cost and fits(cost) and wanted(cost) and sizes not in (*found, constants) and runs(sizes):
                found.append(sizes)
                return True
        return False

    def several_tiles(cost: Cost) -> bool:
        return cost.largest > _SEVERAL_TILES

    for recipes in (_AWKWARD, _UNEVEN, _SLIM):
        first(recipes, several_tiles) or first(recipes[::-1], lambda cost: True)
    first(_ALIGNED, lambda cost: several_tiles(cost) and cost.aligned) or first(_ALIGNED, several_tiles)
    first(_LEAST, lambda cost: True)
    if len(found) < 3:
        found += list(_halvings(constants, seen, lambda sizes: fits(trial(sizes)) and runs(sizes)))[
            : 3 - len(found)
        ]
    return found


def _groups(constants: Sizes, seen: list[str], trial: Trial) -> list[list[list[str]]]:
    """Ways to choose what varies, the best first; constants in one group are always equal.

    First all that may take any size by themselves (channels often may not: groups divide them); then all; all with
    those kept equal that are; then without the first ones.
    """
    large = [name for name in seen if constants[name] > _SMALL]
    free = [
        name
        for name in large
        if all(trial({**constants, name: other}) is not None for other in _ODD if other != constants[name])
    ]
    equal = [
        [name for name in large if constants[name] == size] for size in dict.fromkeys(constants.values())
    ]
    ways = [
        [[name] for name in free],
        [[name] for name in large],
        [group for group in equal if group],
        *([[name] for name in large[skip:]] for skip in (1, 2, 3)),
    ]
    return [way for place, way in enumerate(ways) if way and way not in ways[:place]]


def _handed_out(
    constants: Sizes, ways: list[list[list[str]]], recipes: tuple[tuple[int, ...], ...]
) -> Iterator[Sizes]:
    for way in ways:
        for recipe in recipes:
            yield {
                **constants,
                **{name: recipe[i % len(recipe)] for i, group in enumerate(way) for name in group},
            }


def _halvings(constants: Sizes, seen: list[str], fits: Callable[[Sizes], bool]) -> Iterator[Sizes]:
    """Ever smaller versions of the original sizes, keeping their proportions."""
    sizes = dict(constants)
    while any(sizes[name] > _SMALL for name in seen):
        largest = max(seen, key=lambda name: sizes[name])
        sizes = {**sizes, largest: sizes[largest] // 2}
        if fits(sizes):
            yield sizes
