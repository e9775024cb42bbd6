"""The timing loop for real GPUs, driven by kernels whose clocks are scripted."""

import random
import time
from collections.abc import Callable

import pytest

from evoengineer.judge import measurement
from evoengineer.judge.measurement import dishonest_times, measure
from evoengineer.judge.runner.process import Called


class Scripted:
    """A kernel whose event time is drawn from a distribution."""

    def __init__(
        self, time_us: Callable[[int], float], beside_us: float = 0.0, hidden_seconds: float = 0.0
    ) -> None:
        self.calls: list[tuple[int, int]] = []
        self._time_us, self._beside_us, self._hidden_seconds = time_us, beside_us, hidden_seconds

    def call(self, number: int, function: str = "forward", flush_bytes: int = 0) -> Called:
        self.calls.append((number, flush_bytes))
        time.sleep(self._hidden_seconds)
        event_us = self._time_us(len(self.calls))
        return Called((), event_us, event_us + self._beside_us, event_us)


@pytest.fixture(autouse=True)
def short_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement, "WARM_UP_SECONDS", 0.0)


def noisy(mean_us: float, spread: float, seed: int) -> Callable[[int], float]:
    chance = random.Random(seed)
    return lambda _: mean_us * (1 + chance.gauss(0, spread))


def nothing(number: int) -> None: ...


def test_quiet_kernels_need_fifty_repetitions() -> None:
    measured = measure(
        Scripted(noisy(50, 0.001, 1)),
        Scripted(noisy(100, 0.001, 2)),
        nothing,
        flush_bytes=1,
        chance=random.Random(3),
    )
    assert measured.repetitions == measurement.LEAST_REPETITIONS
    assert measured.speedup == pytest.approx(2, rel=0.01)
    low, high = measured.speedup_interval
    assert low <= measured.speedup <= high
    assert high - low < 0.01


def test_noise_is_measured_longer_but_not_for_ever() -> None:
    measured = measure(
        Scripted(noisy(50, 0.3, 1)),
        Scripted(noisy(100, 0.3, 2)),
        nothing,
        flush_bytes=1,
        chance=random.Random(3),
    )
    assert measured.repetitions == measurement.MOST_REPETITIONS
    low, high = measured.interval_us
    assert low < measured.time_us < high


def test_inputs_rotate_and_caches_are_flushed() -> None:
    candidate = Scripted(noisy(50, 0.001, 1))
    measure(candidate, Scripted(noisy(50, 0.001, 2)), nothing, flush_bytes=777, chance=random.Random(3))
    timed = [(number, flush) for number, flush in candidate.calls if flush]
    assert {number for number, _ in timed} == set(range(measurement.INPUT_SETS))
    assert {flush for _, flush in timed} == {777}
    assert len(candidate.calls) - len(timed) >= measurement.WARM_UP_CALLS


def test_results_of_timed_calls_are_compared() -> None:
    candidate = Scripted(noisy(50, 0.001, 1))
    compared: list[tuple[int, int]] = []

    def verify(number: int) -> None:
        compared.append((number, len(candidate.calls)))
        assert candidate.calls[-1][0] == number  # the very call that was timed

    measure(candidate, Scripted(noisy(50, 0.001, 2)), verify, flush_bytes=1, chance=random.Random(3))
    assert len(compared) >= 3


def test_clocks_that_agree_are_honest() -> None:
    measured = measure(
        Scripted(noisy(50, 0.01, 1), beside_us=8), Scripted(noisy(100, 0.01, 2), beside_us=8), nothing,
        flush_bytes=1, chance=random.Random(3),
    )  # fmt: skip
    assert dishonest_times(measured) is None


def test_work_on_another_stream_is_found() -> None:
    measured = measure(
        Scripted(noisy(50, 0.01, 1), beside_us=90), Scripted(noisy(100, 0.01, 2), beside_us=8), nothing,
        flush_bytes=1, chance=random.Random(3),
    )  # fmt: skip
    finding = dishonest_times(measured)
    assert finding is not None
    assert finding.rule == "unseen_work"
    assert "all streams" in finding.text


def test_a_patched_timer_is_found() -> None:
    measured = measure(
        Scripted(noisy(1, 0.01, 1), hidden_seconds=0.002), Scripted(noisy(100, 0.01, 2)), nothing,
        flush_bytes=1, chance=random.Random(3),
    )  # fmt: skip
    finding = dishonest_times(measured)
    assert finding is not None
    assert "judge's clock" in finding.text
