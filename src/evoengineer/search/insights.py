"""I3: insights, the reasons that proposals gave, each with a record of paired evidence.

An insight begins as the thought of a charged proposal. Its record is what happened to the kernel it came from,
against that kernel's parent, and to later proposals that say they used it (`used:` in the reply). Being shown is
no evidence: the text of a design that was replaced must not inherit its successor's speed. Those whose record is
good are shown first; one that failed is shown at most once per prompt, and says so. The book remembers a bounded
number, so that the work per trial stays flat; the archive keeps them all.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from random import Random

from evoengineer.judge.verdict import Outcome

KEPT = 48
LONGEST = 600  # characters of a thought that are worth showing
NOTICEABLE = 0.01  # a gain or loss below 1% is no difference
_FAILURE = math.log(0.5)  # how a failed use counts, next to ln(gain) of a valid one


@dataclass(frozen=True, slots=True)
class Use:
    """One proposal that was built on the insight, paired with its parent."""

    number: int
    outcome: Outcome
    gain: float | None  # speedup over its best parent; None when not valid
    before_us: float | None = None  # that parent's time
    after_us: float | None = None
    parent: str = ""  # its label
    reason: str = ""  # outcome, stage and reason of a failure

    @property
    def mark(self) -> str:
        """What it did, in words that cannot contradict the figures."""
        if self.gain is None:
            return "did not work"
        if self.gain > 1.0 + NOTICEABLE:
            return "helped"
        return "made it slower" if self.gain < 1.0 - NOTICEABLE else "made no difference"

    def text(self) -> str:
        """As a prompt tells it."""
        if self.gain is None:
            return f"kernel {self.number} failed: {self.reason or self.outcome}"
        times = ""
        if self.before_us is not None and self.after_us is not None:
            times = f", {self.before_us:.2f} us to {self.after_us:.2f} us"
        parent = self.parent or "the baseline"
        return f"kernel {self.number} has {self.gain:.2f}x the speed of its parent ({parent}{times})"


@dataclass(slots=True)
class Insight:
    """A reason and its record."""

    number: int  # the proposal it came from
    text: str
    origin: Use
    later: deque[Use] = field(default_factory=lambda: deque(maxlen=8))  # by proposals that say so

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
        """As a prompt tells it: its number, how it fared, then the text."""
        return f"[{self.number}] ({self.origin.mark}: {self.origin.text()}{self._later()}) {self.text}"

    def _later(self) -> str:
        if not self.later:
            return ""
        gains = [use.gain for use in self.later if use.gain is not None]
        failures = len(self.later) - len(gains)
        told = f"; used {len(self.later)} more time{'s' if len(self.later) > 1 else ''}"
        if gains:
            mean = math.exp(sum(map(math.log, gains)) / len(gains))
            told += f", mean gain {mean:.2f}x"
        return f"{told}, {failures} failed" if failures else told


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
        """What became of a proposal that says it used insight `number` (which may be forgotten by now)."""
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
