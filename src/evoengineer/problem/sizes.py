"""Other sizes for a KernelBench file, which has one shape: a bench case that fits, and check cases.

The sizes of such a file are what `constants.py` finds. They are changed only in a way that the model itself accepts,
so every choice here is tried by the caller's `Trial`: what the model costs with these sizes, and whether it really
runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from evoengineer.problem.constants import SMALL, Sizes

# A kernel is judged whole on the simulated GPU, which takes about as long as a loop of C: seconds for these.
MOST_BENCH_BYTES = 64 << 20
MOST_BENCH_FLOPS = 1 << 31
_MOST_CHECK_BYTES = 1 << 20
_MOST_CHECK_FLOPS = 4e6
_SEVERAL_TILES = 1200  # elements of the largest tensor
_FRACTIONS = (16, 8, 4, 2)
_ODD = (13, 27)  # a constant that may be these may be anything

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


Way = list[list[str]]  # names that vary, in groups of those that are always equal
Trial = Callable[[Sizes], Cost | None]  # None: the model does not run with these sizes
Runs = Callable[[Sizes], bool]


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
    free = _free(constants, seen, trial)
    ways = _ways(constants, seen, free)
    # What cannot take any size (channels that groups divide) is a fraction of itself where its own is too much.
    bases = (constants, _fractions(constants, seen, free, trial))

    def fits(cost: Cost | None) -> bool:
        return cost is not None and cost.bytes <= _MOST_CHECK_BYTES and cost.flops <= _MOST_CHECK_FLOPS

    def first(
        recipes: tuple[tuple[int, ...], ...], wanted: Callable[[Cost], bool], *, shrunk: bool = False
    ) -> bool:
        for sizes, varied in _handed_out(bases, ways, recipes):
            cost = trial(sizes)
            while shrunk and cost and not fits(cost) and max(sizes[name] for name in varied) > 1:
                sizes = _shrunk(sizes, varied)
                cost = trial(sizes)
            if cost and fits(cost) and wanted(cost) and sizes not in (*found, constants) and runs(sizes):
                found.append(sizes)
                return True
        return False

    def anyhow(cost: Cost) -> bool:
        return True

    def several_tiles(cost: Cost) -> bool:
        return cost.largest > _SEVERAL_TILES

    for recipes in (_AWKWARD, _UNEVEN, _SLIM):
        first(recipes, several_tiles) or first(recipes[::-1], anyhow) or first(recipes, anyhow, shrunk=True)
    first(_ALIGNED, lambda cost: several_tiles(cost) and cost.aligned) or first(_ALIGNED, several_tiles)
    first(_LEAST, anyhow)
    if len(found) < 3:
        found += list(_halvings(constants, seen, lambda sizes: fits(trial(sizes)) and runs(sizes)))[
            : 3 - len(found)
        ]
    return found


def _free(constants: Sizes, seen: list[str], trial: Trial) -> list[str]:
    """What may take any size by itself. Channels often may not: groups divide them."""
    return [
        name
        for name in seen
        if constants[name] > SMALL
        and all(trial({**constants, name: other}) is not None for other in _ODD if other != constants[name])
    ]


def _ways(constants: Sizes, seen: list[str], free: list[str]) -> list[Way]:
    """Ways to choose what varies, the best first: what is free; then all; all with those kept equal that are; then
    without the first ones."""
    large = [name for name in seen if constants[name] > SMALL]
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
    bases: Sequence[Sizes], ways: list[Way], recipes: tuple[tuple[int, ...], ...]
) -> Iterator[tuple[Sizes, list[str]]]:
    """Sizes, and the names of those that were handed out."""
    for base, way, recipe in product(bases, ways, recipes):
        # One more for each time round: the fifth size is not the first.
        varied = {
            name: recipe[i % len(recipe)] + i // len(recipe) for i, group in enumerate(way) for name in group
        }
        yield {**base, **varied}, list(varied)


def _shrunk(sizes: Sizes, varied: list[str]) -> Sizes:
    """The largest made smaller; those that are equal stay equal."""
    largest = max(sizes[name] for name in varied)
    return {
        name: size * 2 // 3 if name in varied and size == largest else size for name, size in sizes.items()
    }


def _fractions(constants: Sizes, seen: list[str], free: list[str], trial: Trial) -> Sizes:
    """Every size that is not free as small a fraction of itself as the model takes."""
    sizes = dict(constants)
    for name in seen:
        if constants[name] > SMALL and name not in free:
            fractions = [constants[name] // by for by in _FRACTIONS if constants[name] % by == 0]
            sizes[name] = next(
                (each for each in fractions if trial({**sizes, name: each}) is not None), constants[name]
            )
    return sizes


def _halvings(constants: Sizes, seen: list[str], fits: Callable[[Sizes], bool]) -> Iterator[Sizes]:
    """Ever smaller versions of the original sizes, keeping their proportions."""
    sizes = dict(constants)
    while any(sizes[name] > SMALL for name in seen):
        largest = max(seen, key=lambda name: sizes[name])
        sizes = {**sizes, largest: sizes[largest] // 2}
        if fits(sizes):
            yield sizes
