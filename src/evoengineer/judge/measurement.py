"""Timing on a real GPU: candidate and baseline in turn, until the noise is small enough.

Each repetition flushes the L2 cache, takes inputs that neither kernel has seen, at addresses that earlier ones do not
tell, and times one call of each kernel; the results of every timed call are compared. So nothing that was kept from
an earlier call, by pointer, shape, content or count, can be right. Works on anything that calls like a
`RunnerProcess`, the simulated runtime included. Owns the statistics; starting processes and comparing results are the
caller's.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from evoengineer.judge.integrity import Finding
from evoengineer.judge.runner.process import Called

KEPT_SETS = 3  # of inputs, so that addresses come back in no order
FLUSH_BYTES = 256 << 20  # twice the largest L2 there is
WARM_UP_CALLS, WARM_UP_SECONDS = 10, 0.2
LEAST_REPETITIONS, MOST_REPETITIONS = 40, 120
WANTED_ERROR = 0.005  # relative standard error of the mean
_CERTAIN = 4.0  # standard errors
_RESAMPLES = 1000


class Timed(Protocol):
    """What is timed."""

    def call(self, number: int, function: str = "forward", flush_bytes: int = 0) -> Called: ...


class Unlaunched(Exception):
    """A timed call launched no kernel."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One timed call by three clocks: events around the call, events around all streams, and the judge's own."""

    event_us: float
    drained_us: float
    judge_us: float
    launches: int = 1


@dataclass(frozen=True, slots=True)
class Measured:
    """Candidate and baseline, timed in turn."""

    time_us: float  # median
    interval_us: tuple[float, float]
    baseline_us: float
    speedup: float
    speedup_interval: tuple[float, float]
    repetitions: int
    relative_error: float
    candidate: tuple[Sample, ...]
    baseline: tuple[Sample, ...]


class Inputs(Protocol):
    """Where sets of inputs come from."""

    def fresh(self) -> int:
        """The number of a new set, placed for both kernels."""
        ...

    def verify(self, number: int) -> None:
        """Compare the candidate's results of its last call, which was with that set; raises if they are wrong."""
        ...

    def drop(self, number: int) -> None: ...


def measure(
    candidate: Timed, baseline: Timed, inputs: Inputs, *, flush_bytes: int, chance: random.Random
) -> Measured:
    """Time the two kernels against each other."""
    kept = [inputs.fresh()]
    for kernel in (baseline, candidate):
        _warm_up(kernel, kept[0])
    inputs.verify(kept[0])
    ours: list[Sample] = []
    theirs: list[Sample] = []
    while len(ours) < MOST_REPETITIONS:
        number = inputs.fresh()
        # Who goes first changes at random: clocks and temperatures drift.
        for kernel, samples in chance.sample([(candidate, ours), (baseline, theirs)], 2):
            samples.append(_timed(kernel, number, flush_bytes))
            if kernel is candidate and not samples[-1].launches:
                raise Unlaunched
        inputs.verify(number)  # the results of the timed call itself, which the runner keeps until the next
        kept.append(number)
        if len(kept) > KEPT_SETS:
            inputs.drop(kept.pop(chance.randrange(len(kept))))
        enough = len(ours) >= LEAST_REPETITIONS
        if enough and max(_relative_error(ours), _relative_error(theirs)) < WANTED_ERROR:
            break
    return summarise(ours, theirs, chance)


def summarise(ours: Sequence[Sample], theirs: Sequence[Sample], chance: random.Random) -> Measured:
    """Medians, and 95% intervals from resampling."""
    mine, other = [s.event_us for s in ours], [s.event_us for s in theirs]
    time_us, baseline_us = statistics.median(mine), statistics.median(other)
    medians, ratios = [], []
    for _ in range(_RESAMPLES):
        resampled = statistics.median(chance.choices(mine, k=len(mine)))
        medians.append(resampled)
        ratios.append(statistics.median(chance.choices(other, k=len(other))) / resampled)
    return Measured(
        time_us,
        _interval(medians),
        baseline_us,
        baseline_us / time_us,
        _interval(ratios),
        len(ours),
        max(_relative_error(ours), _relative_error(theirs)),
        tuple(ours),
        tuple(theirs),
    )


def dishonest_times(measured: Measured) -> Finding | None:
    """Do the clocks agree? The baseline shows what they differ by on this machine, and the spread how surely.

    The judge's clock is in another process: whatever a candidate does to events, it cannot make the call end sooner.
    """
    for name, clock, least_us, share in (
        ("all streams", lambda s: s.drained_us, 20.0, 0.1),
        ("the judge's clock", lambda s: s.judge_us, 5.0, 0.1),
    ):
        mine, noise = _beyond(measured.candidate, clock)
        other, other_noise = _beyond(measured.baseline, clock)
        excess = mine - other
        if excess > max(least_us, share * measured.time_us) + _CERTAIN * math.hypot(noise, other_noise):
            return Finding(
                "unseen_work",
                f"by events a call takes {measured.time_us:.1f} us, by {name} {excess:.1f} us more than that differs "
                "for the baseline: work goes on where the timer does not look",
            )
    return None


def _beyond(samples: Sequence[Sample], clock: Callable[[Sample], float]) -> tuple[float, float]:
    """By how much a clock shows more than the events: median, and its standard error from the spread of the middle."""
    excess = sorted(clock(s) - s.event_us for s in samples)
    quarter = len(excess) // 4
    spread = (excess[-1 - quarter] - excess[quarter]) / 1.35  # as of a normal distribution
    return statistics.median(excess), 1.25 * spread / math.sqrt(len(excess))


def _warm_up(kernel: Timed, number: int) -> None:
    begin, calls = time.monotonic(), 0
    while calls < WARM_UP_CALLS or time.monotonic() - begin < WARM_UP_SECONDS:
        kernel.call(number)
        calls += 1


def _timed(kernel: Timed, number: int, flush_bytes: int) -> Sample:
    begin = time.perf_counter()
    called = kernel.call(number, flush_bytes=flush_bytes)
    judge_us = (time.perf_counter() - begin) * 1e6
    return Sample(called.event_us, called.drained_us, judge_us, called.launches)


def _relative_error(samples: Sequence[Sample]) -> float:
    """Standard error of the mean over the mean."""
    times = [s.event_us for s in samples]
    if len(times) < 2 or statistics.fmean(times) <= 0:
        return math.inf
    return statistics.stdev(times) / math.sqrt(len(times)) / statistics.fmean(times)


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """The middle 95%."""
    ordered = sorted(values)
    return ordered[int(0.025 * len(ordered))], ordered[min(len(ordered) - 1, int(0.975 * len(ordered)))]
