"""What the loop asks of whoever keeps the record of a run; `experiment.RunJournal` does so in the archive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from evoengineer.judge.verdict import Verdict
from evoengineer.propose.parse import Parsed
from evoengineer.propose.protocol import Attempt, Estimate, Reply
from evoengineer.search.insights import Use
from evoengineer.search.records import Plan, Restored, Settled


class Journal(Protocol):
    """Events are durable once `flush` returns."""

    def flush(self, *, paid: bool = False) -> None: ...

    def open_session(self) -> None: ...

    def elapsed_seconds(self) -> float: ...

    def restore(self) -> Iterator[Restored]: ...

    def sources(self, numbers: tuple[int, ...]) -> tuple[str, ...]: ...

    def baseline(self, source: str, verdict: Verdict) -> Settled: ...

    def planned(self, plan: Plan, estimate: Estimate) -> None: ...

    def attempted(self, attempt: Attempt) -> None: ...

    def replied(self, number: int, reply: Reply, parsed: Parsed) -> None: ...

    def judged(self, number: int, verdict: Verdict) -> None: ...

    def settled(self, plan: Plan, settled: Settled, build: str, use: Use | None) -> None: ...

    def ended(self, status: str, ending: str, reason: str) -> None: ...
