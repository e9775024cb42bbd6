"""The timing loop for real GPUs, driven by kernels whose clocks are scripted."""

import random
from collections.abc import Callable

import pytest

from evoengineer.judge import measurement
from evoengineer.judge.measurement import Unlaunched, dishonest_times, measure
from evoengineer.judge.runner.process import Called

_CALL_US = 30.0  # what a call takes the judge besides the kernel


class Clock:
    """The judge's: it goes on with the calls, so that no test depends on how busy the machine is."""

    seconds = 0.0


CLOCK = Clock()


class Scripted:
    """A kernel whose event time is drawn from a distribution."""

    def __init__(
        self,
        time_us: Callable[[int], float],
        beside_us: float = 0.0,
        hidden_seconds: float = 0.0,
        launches: int = 1,
    ) -> None:
        self.calls: list[tuple[int, int]] = []
        self._launches = launches
        self._time_us, self._beside_us, self._hidden_seconds = time_us, beside_us, hidden_seconds

    def call(self, number: int, function: str = "forward", flush_bytes: int = 0) -> Called:
        self.calls.append((number, flush_bytes))
        event_us = self._time_us(len(self.calls))
        CLOCK.seconds += (event_us + _CALL_US) * 1e-6 + self._hidden_seconds
        return Called((), event_us, event_us + self._beside_us, event_us, self._launches)


@pytest.fixture(autouse=True)
def short_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement, "WARM_UP_SECONDS", 0.0)
    monkeypatch.setattr(measurement.time, "perf_counter", lambda: CLOCK.seconds)


def noisy(mean_us: float, spread: float, seed: int) -> Callable[[int], float]:
    chance = random.Random(seed)
    return lambda _: mean_us * (1 + chance.gauss(0, spread))


class Inputs:
    """New sets whenever one is asked for; `candidate` must have been called with the one that is compared."""

    def __init__(self, candidate: Scripted | None = None) -> None:
        self.candidate, self.made, self.compared, self.dropped = candidate, 0, [], []  # type: ignore[var-annotated]

    def fresh(self) -> int:
        self.made += 1
        return self.made

    def verify(self, number: int) -> None:
        self.compared.append(number)
        if self.candidate is not None:
            assert self.candidate.calls[-1][0] == number  # the very call that was timed

    def drop(self, number: int) -> None:
        self.dropped.append(number)


def test_quiet_kernels_need_fifty_repetitions() -> None:
    measured = measure(
        Scripted(noisy(50, 0.001, 1)),
        Scripted(noisy(100, 0.001, 2)),
        Inputs(),
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
        Inputs(),
        flush_bytes=1,
        chance=random.Random(3),
    )
    assert measured.repetitions == measurement.MOST_REPETITIONS
    low, high = measured.interval_us
    assert low < measured.time_us < high


def test_no_inputs_come_twice_and_every_result_is_compared() -> None:
    candidate = Scripted(noisy(50, 0.001, 1))
    inputs = Inputs(candidate)
    measure(candidate, Scripted(noisy(50, 0.001, 2)), inputs, flush_bytes=777, chance=random.Random(3))
    timed = [number for number, flush in candidate.calls if flush]
    assert timed == list(range(2, 2 + measurement.LEAST_REPETITIONS))
    assert {flush for _, flush in candidate.calls} == {0, 777}
    assert inputs.compared == [1, *timed]
    assert len(candidate.calls) - len(timed) >= measurement.WARM_UP_CALLS
    assert inputs.made - len(inputs.dropped) == measurement.KEPT_SETS
    assert inputs.dropped != sorted(inputs.dropped)  # nobody can tell which address comes back next


def test_a_call_without_a_kernel_is_found() -> None:
    with pytest.raises(Unlaunched):
        measure(
            Scripted(noisy(50, 0.001, 1), launches=0), Scripted(noisy(50, 0.001, 2)), Inputs(),
            flush_bytes=1, chance=random.Random(3),
        )  # fmt: skip


def test_clocks_that_agree_are_honest() -> None:
    measured = measure(
        Scripted(noisy(50, 0.01, 1), beside_us=8), Scripted(noisy(100, 0.01, 2), beside_us=8), Inputs(),
        flush_bytes=1, chance=random.Random(3),
    )  # fmt: skip
    assert dishonest_times(measured) is None


def test_work_on_another_stream_is_found() -> None:
    measured = measure(
        Scripted(noisy(50, 0.01, 1), beside_us=90), Scripted(noisy(100, 0.01, 2), beside_us=8), Inputs(),
        flush_bytes=1, chance=random.Random(3),
    )  # fmt: skip
    finding = dishonest_times(measured)
    assert finding is not None
    assert finding.rule == "unseen_work"
    assert "all streams" in finding.text


def test_a_patched_timer_is_found() -> None:
    measured = measure(
        Scripted(noisy(1, 0.01, 1), hidden_seconds=0.0002), Scripted(noisy(100, 0.01, 2)), Inputs(),
        flush_bytes=1, chance=random.Random(3),
    )  # fmt: skip
    finding = dishonest_times(measured)
    assert finding is not None
    assert "judge's clock" in finding.text
