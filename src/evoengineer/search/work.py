"""Work: a proposal under way, from its plan to the moment it can be settled."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass

from evoengineer.judge.verdict import Outcome, Verdict
from evoengineer.kernel.text import Kernel
from evoengineer.propose.parse import Parsed
from evoengineer.propose.protocol import Estimate, Reply
from evoengineer.propose.uses import used_insights
from evoengineer.search.records import Kind, Plan, Settled

_UNREAD = Verdict(Outcome.UNPARSABLE, "no kernel could be read from the reply")


@dataclass(slots=True)
class Work:
    """A proposal under way."""

    plan: Plan
    estimate: Estimate
    future: Future[Reply] | None = None
    reply: Reply | None = None
    parsed: Parsed | None = None
    unread: Verdict = _UNREAD  # on a reply without a kernel
    kernel: str = ""  # identity of the normalised text
    build: str = ""
    verdict: Verdict | None = None
    skipped: bool = False  # known to be a duplicate of an earlier proposal
    failed: bool = False
    exhausted: str = ""  # why the proposer has nothing left
    stuck: bool = False  # the machine failed it: `resume` judges it
    tokens: int = 0  # billed for attempts without an answer
    nano_usd: int = 0

    @property
    def complete(self) -> bool:
        """Whether it can be settled."""
        return self.verdict is not None or self.skipped or self.failed

    def settled(self, first: int | None, trial: int) -> Settled:
        """The end of it: `first` is the earlier proposal that it repeats, `trial` its number if charged."""
        parsed = self.parsed or Parsed("")
        usage = self.reply.usage if self.reply else None
        kind = Kind.FAILED if self.failed else Kind.TRIAL if first is None else Kind.DUPLICATE
        return Settled(
            number=self.plan.number,
            kind=kind,
            trial=trial if kind is Kind.TRIAL else None,
            source=parsed.code,
            name=parsed.name,
            thought=parsed.thought,
            verdict=self.verdict if kind is Kind.TRIAL else None,
            duplicate_of=first,
            tokens=self.tokens + (usage.tokens if usage else 0),
            nano_usd=self.nano_usd + (usage.nano_usd if usage else 0),
            used=used_insights(self.reply.text) if self.reply else (),
        )


def kernel_id(source: str) -> str:
    """Identity of a text; empty for none."""
    return Kernel(source).id if source else ""
