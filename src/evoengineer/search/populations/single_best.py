"""Single best: one survivor, which every proposal starts from."""

from __future__ import annotations

from random import Random

from evoengineer.search.populations.protocol import Choice
from evoengineer.search.records import Member


class SingleBest:
    """Only the fastest."""

    def __init__(self) -> None:
        self.best: Member | None = None

    def seed(self, member: Member) -> None:
        self.best = member

    def add(self, member: Member, island: int) -> None:
        if member.beats(self.best):
            self.best = member

    def choose(self, count: int, random: Random) -> Choice:
        return Choice((self.best,) if self.best is not None and count > 0 else ())
