"""Budget: what a run may spend, each limit reserved before a call and settled after it.

Who owns which limit:
- trials: this module, exactly; a proposal that turns out not to be charged gives its trial back;
- tokens and US dollars: this module; a call reserves the most it can cost and settles what it did cost;
- seconds of wall time: this module reads the clock; the loop stops making calls once they are over.

A budget can have a `total` above it, shared by the runs of an experiment; a reservation holds in both or in
neither. Money is counted in billionths of a dollar, as integers, so that sums are exact.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from evoengineer.propose.protocol import Estimate

NANO = 1_000_000_000


@dataclass(slots=True)
class Limit:
    """One limit: `limit` is None where there is none."""

    name: str
    limit: int | None
    used: int = 0
    reserved: int = 0

    @property
    def remaining(self) -> int | None:
        return None if self.limit is None else self.limit - self.used - self.reserved

    def allows(self, amount: int) -> bool:
        """Whether so much can still be reserved."""
        return self.remaining is None or amount <= self.remaining


class Budget:
    """Limits of one run, or of an experiment as its runs' `total`."""

    def __init__(
        self,
        *,
        trials: int | None = None,
        tokens: int | None = None,
        usd: float | None = None,
        seconds: float | None = None,
        total: Budget | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        for name, value in (("trials", trials), ("tokens", tokens), ("usd", usd), ("seconds", seconds)):
            if value is not None and not value >= 0:
                raise ValueError(f"{name} must not be negative, not {value}")
        self.trials = Limit("trials", trials)
        self.tokens = Limit("tokens", tokens)
        self.nano_usd = Limit("cost", None if usd is None else round(usd * NANO))
        self.seconds = seconds
        self.total = total
        self._clock = clock
        self._started = clock()
        self._lock = threading.Lock()

    def reserve(self, estimate: Estimate) -> str | None:
        """Reserve one trial and the estimate; otherwise the name of the limit that does not allow it."""
        with self._lock:
            refused = next(
                (limit.name for limit, amount in self._amounts(estimate) if not limit.allows(amount)), None
            )
            if refused is None and self.total is not None:
                refused = self.total.reserve(estimate)
            if refused is None:
                self._hold(estimate)
            return refused

    def hold(self, estimate: Estimate) -> None:
        """Reserve what an interrupted run had already reserved; it is not refused again."""
        with self._lock:
            self._hold(estimate)
        if self.total is not None:
            self.total.hold(estimate)

    def settle(self, estimate: Estimate, *, charged: bool, tokens: int, nano_usd: int) -> None:
        """Turn a reservation into what was really used."""
        with self._lock:
            for limit, amount in self._amounts(estimate):
                limit.reserved -= amount
            self._use(1 if charged else 0, tokens, nano_usd)
        if self.total is not None:
            self.total.settle(estimate, charged=charged, tokens=tokens, nano_usd=nano_usd)

    def use(self, *, trials: int, tokens: int, nano_usd: int, seconds: float = 0.0) -> None:
        """Account for what an earlier session of the run has used."""
        with self._lock:
            self._use(trials, tokens, nano_usd)
            self._started -= seconds
        if self.total is not None:
            self.total.use(trials=trials, tokens=tokens, nano_usd=nano_usd)

    def out_of_time(self) -> bool:
        left = self.seconds_left()
        return left is not None and left <= 0

    def elapsed(self) -> float:
        return self._clock() - self._started

    def seconds_left(self) -> float | None:
        """Until the nearest end, this budget's or the total's."""
        own = None if self.seconds is None else self.seconds - self.elapsed()
        above = None if self.total is None else self.total.seconds_left()
        return min((left for left in (own, above) if left is not None), default=None)

    def _amounts(self, estimate: Estimate) -> tuple[tuple[Limit, int], ...]:
        return (self.trials, 1), (self.tokens, estimate.tokens), (self.nano_usd, estimate.nano_usd)

    def _hold(self, estimate: Estimate) -> None:
        for limit, amount in self._amounts(estimate):
            limit.reserved += amount

    def _use(self, trials: int, tokens: int, nano_usd: int) -> None:
        self.trials.used += trials
        self.tokens.used += tokens
        self.nano_usd.used += nano_usd
