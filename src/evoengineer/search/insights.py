"""I3: insights, the reasons that proposals gave, each with what happened when it was used.

An insight begins as the thought of a charged proposal and keeps a record: the verdict and the gain of the
proposal it came from, and of every later one that was shown it. Those whose record is good are shown first;
one that failed is shown at most once per prompt, and says so. The book remembers a bounded number, so that
the work per trial stays flat; the archive keeps them all.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from random import Random

from evoengineer.judge.verdict import Outcome

KEPT = 48
LONGEST = 600  # characters of a thought that are worth showing
_FAILURE = math.log(0.5)  # how a failed use counts, next to ln(gain) of a valid one


@dataclass(frozen=True, slots=True)
class Use:
    """One proposal that carried the insight."""

    number: int
    outcome: Outcome
    gain: float | None  # speedup over its best parent; None when not valid

    def text(self) -> str:
        """As a prompt tells it."""
        if self.gain is None:
            return f"failed in proposal {self.number}: {self.outcome}"
        word = "faster" if self.gain > 1.0 else "no faster"
        return f"proposal {self.number}: {word}, {self.gain:.2f}x its parent"


@dataclass(slots=True)
class Insight:
    """A reason and its record."""

    number: int  # the proposal it came from
    text: str
    origin: Use
    later: deque[Use] = field(default_factory=lambda: deque(maxlen=8))

    failed: bool = True  # never part of a valid kernel
    worth: float = 0.0  # mean of ln(gain) over its uses

    def __post_init__(self) -> None:
        self._weigh()

    def used(self, use: Use) -> None:
        self.later.append(use)
        self._weigh()

    def _weigh(self) -> None:
        uses = (self.origin, *self.later)
        self.failed = all(use.gain is None for use in uses)
        self.worth = sum(_FAILURE if use.gain is None else math.log(use.gain) for use in uses) / len(uses)

    def shown(self) -> str:
        """As a prompt tells it: how it fared, then the text."""
        mark = "did not work" if self.failed else "helped" if self.worth > 0 else "made little difference"
        latest = self.later[-1] if self.later else self.origin
        return f"({mark}; {latest.text()}) {self.text}"


class InsightBook:
    """The insights of a run that are remembered."""

    def __init__(self) -> None:
        self._insights: dict[int, Insight] = {}

    def __len__(self) -> int:
        return len(self._insights)

    def __getitem__(self, number: int) -> Insight:
        return self._insights[number]

    def add(self, text: str, use: Use) -> Insight | None:
        """The thought of a charged proposal; nothing when it has none."""
        folded = " ".join(text.split())[:LONGEST]
        if not folded:
            return None
        insight = Insight(use.number, folded, use)
        self._insights[use.number] = insight
        if len(self._insights) > KEPT:
            del self._insights[
                min(self._insights.values(), key=lambda each: (each.worth, each.number)).number
            ]
        return insight

    def used(self, number: int, use: Use) -> None:
        """What became of a proposal that was shown insight `number` (which may be forgotten by now)."""
        if number in self._insights:
            self._insights[number].used(use)

    def choose(self, count: int, random: Random) -> tuple[Insight, ...]:
        """Distinct insights: good ones by softmax of their worth, at most one failed one, last."""
        good: list[Insight] = []
        bad: list[Insight] = []
        for each in self._insights.values():
            (bad if each.failed else good).append(each)
        chosen: list[Insight] = []
        places = count - 1 if bad and len(good) >= count > 1 else count
        if good and places > 0:
            top = max(each.worth for each in good)
            weights = [math.exp(max((each.worth - top) / 0.25, -100.0)) for each in good]
            while good and len(chosen) < places:
                place = random.choices(range(len(good)), weights)[0]
                chosen.append(good.pop(place))
                weights.pop(place)
        if bad and len(chosen) < count:
            chosen.append(random.choice(bad))
        return tuple(chosen)
