"""The statistics of a comparison: means with bootstrap intervals, and a paired test between methods.

Small samples of speedups that are anything but normal: intervals come from resampling problems, the test is
Wilcoxon's signed ranks with its exact distribution (also with ties), and every p-value is Holm's for as many pairs
as were compared. Nothing here knows of archives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

RESAMPLES = 2000
SIGNIFICANCE = 0.05
_TIE = 1e-9  # logarithms of speedups that differ by less are equal


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its 95% interval over problems; the interval is None where there is but one problem."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Whether one of two methods is faster on the same problems. `ratio` over 1: the first one is."""

    problems: int
    first_wins: int
    second_wins: int
    ratio: Estimate  # geometric mean of first / second
    effect: float  # matched-pairs rank-biserial correlation, from -1 to 1
    p_value: float  # two-sided, of this pair alone


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(mean(math.log(value) for value in values))


_STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": mean,
    "median": median,
    "geometric mean": geometric_mean,
}


def bootstrap(values: Sequence[float], statistic: str) -> Estimate:
    """The `mean`, `median` or `geometric mean` and its percentile interval. The same values give the same interval."""
    function = _STATISTICS[statistic]
    if len(values) < 2:
        return Estimate(float(function(values)), None, None)
    import numpy as np

    data = np.log(values) if statistic == "geometric mean" else np.asarray(values, dtype=float)
    drawn = np.random.default_rng(0).choice(data, size=(RESAMPLES, len(data)))
    found = np.median(drawn, axis=1) if statistic == "median" else drawn.mean(axis=1)
    low, high = np.percentile(found, [2.5, 97.5])
    if statistic == "geometric mean":
        low, high = math.exp(low), math.exp(high)
    return Estimate(float(function(values)), float(low), float(high))


def paired_test(first: Sequence[float], second: Sequence[float]) -> PairedTest:
    """Speedups of two methods on the same problems, in the same order."""
    logs = [math.log(a / b) for a, b in zip(first, second, strict=True)]
    differ = [each for each in logs if abs(each) > _TIE]
    ranks = _ranks([abs(each) for each in differ])
    positive = sum(rank for rank, each in zip(ranks, differ, strict=True) if each > 0)
    total = sum(ranks)
    return PairedTest(
        problems=len(logs),
        first_wins=sum(each > 0 for each in differ),
        second_wins=sum(each < 0 for each in differ),
        ratio=bootstrap([math.exp(each) for each in logs], "geometric mean"),
        effect=(2 * positive - total) / total if total else 0.0,
        p_value=_two_sided(ranks, positive),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Each p-value as if it were alone: corrected for how many there are, in the order given."""
    corrected = [0.0] * len(p_values)
    worst = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        worst = max(worst, min(1.0, p_values[index] * (len(p_values) - place)))
        corrected[index] = worst
    return corrected


def least_p(differing: int) -> float:
    """The smallest p-value that so many problems can give."""
    return min(1.0, 2.0 ** (1 - differing))


def _ranks(sizes: Sequence[float]) -> list[float]:
    """From 1; equal ones share the mean of their places."""
    ordered = sorted(sizes)
    places: dict[float, list[int]] = {}
    for place, size in enumerate(ordered, 1):
        known = next((each for each in places if abs(each - size) <= _TIE), size)
        places.setdefault(known, []).append(place)
    by_size = [(size, mean(where)) for size, where in places.items()]
    return [float(next(rank for known, rank in by_size if abs(known - size) <= _TIE)) for size in sizes]


def _two_sided(ranks: Sequence[float], positive: float) -> float:
    """How often random signs give a sum of positive ranks at least as far from the middle, counted exactly."""
    doubled = [round(2 * rank) for rank in ranks]  # shared ranks end in a half
    ways = [1] + [0] * sum(doubled)
    for rank in doubled:
        for at in range(len(ways) - 1, rank - 1, -1):
            ways[at] += ways[at - rank]
    middle = sum(doubled) / 2
    away = abs(2 * positive - middle) - 1e-6
    as_far = sum(count for at, count in enumerate(ways) if abs(at - middle) >= away)
    return float(as_far / 2 ** len(doubled))
