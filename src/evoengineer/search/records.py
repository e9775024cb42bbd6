"""The records that the search passes around: Member, Plan, Settled, Restored.

A *proposal* is one question to a proposer and what came of it; number 0 is the baseline kernel, the others
count from 1 in the order in which they were planned. A proposal that is charged is a *trial*.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from evoengineer.judge.verdict import Outcome, Verdict
from evoengineer.propose.protocol import Estimate, Reply
from evoengineer.sim.timing.profile import LaunchProfile

BASELINE_NUMBER = 0


class Kind(StrEnum):
    """What became of a proposal when it was settled."""

    BASELINE = "baseline"  # seeded free of charge
    TRIAL = "trial"  # charged
    DUPLICATE = "duplicate"  # of an earlier proposal, by source or by machine code: not charged
    FAILED = "failed"  # the proposer gave no answer: not charged


@dataclass(frozen=True, slots=True)
class Member:
    """A judged kernel as populations and prompts see it. Only valid kernels become parents."""

    number: int
    source: str
    name: str
    thought: str
    time_us: float
    interval_us: tuple[float, float]
    speedup: float | None  # over the baseline; None for a problem without one
    simulated: bool = True
    profile: str = ""
    bottlenecks: tuple[str, ...] = ()  # names of `knowledge.BOTTLENECKS`
    light_us: float | None = None  # the least possible time, where it is known
    launches: tuple[LaunchProfile, ...] = ()  # where the device tells

    @property
    def light_share(self) -> float | None:
        """How much of the speed of light it reaches, 0 to 1."""
        return None if self.light_us is None else self.light_us / self.time_us

    @property
    def longest(self) -> LaunchProfile | None:
        """The launch that takes most of the time."""
        return max(self.launches, key=lambda launch: launch.time_ns, default=None)

    @property
    def label(self) -> str:
        """As prompts call it: unique by its number, and readable."""
        return f'kernel {self.number}, "{self.name}"' if self.name else f"kernel {self.number}"

    def beats(self, other: Member | None) -> bool:
        """Faster beyond doubt: the intervals do not overlap (on the simulated GPU they are points)."""
        return other is None or self.interval_us[1] < other.interval_us[0]


@dataclass(frozen=True, slots=True)
class Failure:
    """A candidate that can be repaired: its text and why it failed."""

    number: int
    source: str
    name: str
    outcome: Outcome
    summary: str
    evidence: str
    depth: int  # how many repairs led to it
    stage: str = ""  # where it failed
    edited: int | None = (
        None  # blocks that do not apply: the kernel they were meant for, whose text `source` is
    )

    @property
    def shown(self) -> int:
        """The number of the kernel whose text a repair begins with."""
        return self.number if self.edited is None else self.edited


@dataclass(frozen=True, slots=True)
class Tried:
    """A charged proposal in one line: what the list of everything tried so far tells."""

    number: int
    name: str
    parents: tuple[int, ...]
    time_us: float | None  # None when not valid
    speedup: float | None
    failure: str = ""  # outcome, stage and reason when not valid
    mends: bool = False  # its parent is a failure

    def text(self) -> str:
        made = ", ".join(f"kernel {number}" for number in self.parents)
        made = f" ({'mends' if self.mends else 'from'} {made})" if made else ""
        if self.time_us is None:
            result = f"failed: {self.failure}"
        else:
            result = f"{self.time_us:.2f} us"
            if self.speedup is not None:
                result += f", {self.speedup:.2f}x the baseline's speed"
        return f'kernel {self.number}, "{self.name}"{made}: {result}'


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a proposer is asked."""

    system: str
    user: str
    id: str  # hash of both
    version: str  # of the templates


@dataclass(frozen=True, slots=True)
class Plan:
    """A proposal before its call: everything that determined the prompt, and the prompt."""

    number: int
    after: int  # proposals settled when it was planned, the baseline not counted
    operator: str
    guidance: tuple[str, ...]
    parents: tuple[int, ...]
    insights: tuple[int, ...]
    knowledge: tuple[str, ...]
    island: int
    prompt: Prompt
    occurrence: int  # how many earlier proposals of the run have the same prompt
    sources: tuple[str, ...] = field(default=(), compare=False, repr=False)  # of the parents, while it is new


@dataclass(frozen=True, slots=True)
class Settled:
    """A proposal after its verdict, in the order of the run."""

    number: int
    kind: Kind
    trial: int | None  # 1…N when charged
    source: str
    name: str
    thought: str
    verdict: Verdict | None
    duplicate_of: int | None = None
    tokens: int = 0
    nano_usd: int = 0
    improved: bool = False  # the best kernel of the run when it was settled
    used: tuple[int, ...] = ()  # insights that the reply says it is built on

    @property
    def outcome(self) -> Outcome | None:
        return None if self.verdict is None else self.verdict.outcome


@dataclass(frozen=True, slots=True)
class Tuned:
    """One evaluation of a setting of a proposal's knobs; no trial."""

    number: int  # the proposal whose knobs were turned
    place: int  # 1…K
    source: str
    verdict: Verdict | None  # None if it was given up, as it could not win
    setting: str = ""  # what was turned, for people
    foreseen_us: float | None = None  # then: the time that was foreseen

    @property
    def time_us(self) -> float | None:
        """What the tuner learns; None of a setting that is not valid."""
        if self.verdict is None:
            return self.foreseen_us
        return None if self.verdict.timing is None else self.verdict.timing.time_us


@dataclass(frozen=True, slots=True)
class Restored:
    """A proposal as far as it got."""

    plan: Plan
    estimate: Estimate
    reply: Reply | None
    source: str
    verdict: Verdict | None
    settled: Settled | None
    build: str
    failed_tokens: int  # billed for attempts without an answer
    failed_nano_usd: int
