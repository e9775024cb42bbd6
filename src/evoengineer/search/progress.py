"""Progress: the running totals of a run, and the protocol of whoever watches it (a live view, plain lines)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from evoengineer.judge.protocol import Standing
from evoengineer.judge.verdict import Outcome
from evoengineer.propose.protocol import Attempt
from evoengineer.search.records import Kind, Member, Plan, Settled, Tuned


@dataclass(slots=True)
class Progress:
    """Running totals; the loop keeps them."""

    trials: int = 0
    limit: int | None = None
    proposals: int = 0
    in_flight: int = 0
    duplicates: int = 0
    failed: int = 0  # proposals without an answer, given up
    repeats_in_a_row: int = 0
    failures_in_a_row: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    attempts: Counter[str] = field(default_factory=Counter)  # failed calls by kind
    tokens: int = 0
    nano_usd: int = 0
    price_known: bool = True
    best: Member | None = None
    best_trial: int = 0  # trial of the last improvement
    seconds: float = 0.0
    seconds_left: float | None = None
    cluster: Standing | None = None  # who judges; None: this machine

    def settled(self, settled: Settled) -> None:
        """Count a proposal that has ended."""
        self.proposals += 1
        self.tokens += settled.tokens
        self.nano_usd += settled.nano_usd
        if settled.kind is Kind.TRIAL:
            self.trials += 1
            if settled.outcome is not None:
                self.outcomes[settled.outcome] += 1
        elif settled.kind is Kind.DUPLICATE:
            self.duplicates += 1
        elif settled.kind is Kind.FAILED:
            self.failed += 1
        self.repeats_in_a_row = self.repeats_in_a_row + 1 if settled.kind is Kind.DUPLICATE else 0
        self.failures_in_a_row = self.failures_in_a_row + 1 if settled.kind is Kind.FAILED else 0

    def forgive(self) -> None:
        """Give the proposer another chance: what it did in a row no longer counts."""
        self.repeats_in_a_row = self.failures_in_a_row = 0

    def improved(self, best: Member | None) -> None:
        """Note the best kernel so far."""
        if best is not None and (self.best is None or best.number != self.best.number):
            self.best, self.best_trial = best, self.trials

    @property
    def valid(self) -> int:
        return self.outcomes[Outcome.VALID]


class Observer(Protocol):
    """Told what happens, in the loop's thread; must not take long."""

    def planned(self, plan: Plan, progress: Progress) -> None: ...

    def attempted(self, attempt: Attempt, progress: Progress) -> None: ...

    def settled(self, plan: Plan | None, settled: Settled, progress: Progress) -> None: ...

    def tuned(self, tuned: Tuned, progress: Progress) -> None: ...

    def tick(self, progress: Progress) -> None: ...


class Silent:
    """Watches nothing."""

    def planned(self, plan: Plan, progress: Progress) -> None:
        pass

    def attempted(self, attempt: Attempt, progress: Progress) -> None:
        pass

    def settled(self, plan: Plan | None, settled: Settled, progress: Progress) -> None:
        pass

    def tuned(self, tuned: Tuned, progress: Progress) -> None:
        pass

    def tick(self, progress: Progress) -> None:
        pass
