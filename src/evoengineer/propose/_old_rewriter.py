"""Rewriter: a proposer that needs no language model. It rewrites the parent's source, by rules.

A `Rule` finds the places of a text where it applies and gives the changed texts. The rewriter draws one or two
of all changes that are possible, by the run's seed and the proposal's number, and answers in the form that
models are asked for, so that everything behind it is the same. It is blind to what a kernel computes: that a
change is right, and faster, is for the judge to find out. Rules live in `rules.py`; a rewriter that understands
more can take its place without changing anything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Protocol

from evoengineer.propose.fake_script import reply_text
from evoengineer.propose.protocol import Estimate, ProposerError, Reply, Request


@dataclass(frozen=True, slots=True)
class Change:
    """A changed text, and what was done in a few words."""

    what: str
    source: str


class Rule(Protocol):
    """A way to change a text."""

    @property
    def name(self) -> str: ...

    @property
    def thought(self) -> str:
        """Why it may help."""
        ...

    # A rule may have a `weight`, how likely it is drawn next to one that has none (1).

    def changes(self, source: str) -> Iterable[Change]:
        """All results of applying the rule once; none where it does not apply."""
        ...


class Rewriter:
    """Proposes by applying rules to the first parent, or to the baseline."""

    name = "rewriter"

    def __init__(self, rules: Iterable[Rule] | None = None) -> None:
        from evoengineer.propose.rules import RULES

        self.rules = tuple(RULES if rules is None else rules)

    def estimate(self, system: str, user: str) -> Estimate:
        return Estimate()

    def propose(self, request: Request) -> Reply:
        source = request.parents[0] if request.parents else request.baseline
        if not source:
            raise ProposerError(
                "the rewriter needs a kernel to start from; this problem has no baseline", fatal=True
            )
        random = Random(f"{request.seed}:{request.number}:{request.prompt}:rewrite")
        steps: list[tuple[Rule, Change]] = []
        for _ in range(random.choice((1, 1, 2))):
            step = self._step(source, random)
            if step is None:
                break
            steps.append(step)
            source = step[1].source
        if not steps:
            raise ProposerError(
                "no rule applies to the kernel: the rewriter has nothing to propose", fatal=True
            )
        name = ", ".join(change.what for _, change in steps)
        thought = " ".join(dict.fromkeys(rule.thought for rule, _ in steps))
        return Reply(reply_text(source, name, thought), self.name, finish="stop")

    def _step(self, source: str, random: Random) -> tuple[Rule, Change] | None:
        """First a rule, then one of its changes, so that a rule with many variants does not drown the others."""
        rules = list(self.rules)
        while rules:
            rule = rules.pop(
                random.choices(range(len(rules)), [getattr(each, "weight", 1) for each in rules])[0]
            )
            distinct = {change.source: change for change in rule.changes(source) if change.source != source}
            if distinct:
                return rule, random.choice(list(distinct.values()))
        return None

    def close(self) -> None:
        pass
