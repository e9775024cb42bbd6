"""When to call an endpoint again: exponential back-off with jitter, unless the endpoint says how long to wait."""

from __future__ import annotations

import email.utils
import time
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often to try, and how long to wait in between."""

    attempts: int = 8  # in all
    first_seconds: float = 1.0
    longest_seconds: float = 60.0
    longest_asked_seconds: float = 600.0  # a Retry-After beyond this ends the proposal

    def wait_seconds(self, attempt: int, random: Random, asked: float | None) -> float:
        """Before attempt `attempt` + 1. Half of the wait is random, so that clients do not come back together.
        What the endpoint asked for is never undercut."""
        backoff = min(self.first_seconds * 2.0 ** (attempt - 1), self.longest_seconds)
        wait = backoff * (0.5 + 0.5 * random.random())
        return asked if asked else wait


def retry_after(value: str | None, now: float | None = None) -> float | None:
    """Seconds from a Retry-After header, which holds a number or a date."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        date = email.utils.parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    return max(0.0, date.timestamp() - (time.time() if now is None else now))
