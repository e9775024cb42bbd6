"""Several models in one run: by shares, or the first until it stalls.

    a=0.7,b=0.3          every proposal is drawn for one of them, from the run's seed and the proposal's number
    a,b                  the same with equal shares
    a,b and escalate N   `a`; after N trials without a better kernel `b`, after 2N the next; after a better one `a`

Which model is asked follows from what was settled when the proposal was planned, so it is the same in a repeated and in
a resumed run. The reply names the model as the user did, which is what the accounts go by.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from evoengineer.errors import UsageError
from evoengineer.propose.protocol import Attempt, Estimate, Proposer, ProposerError, Reply, Request, Stopped


def is_several(text: str) -> bool:
    """Whether a name of a model is a list of them."""
    return "," in text or "=" in text


def model_shares(text: str) -> tuple[tuple[str, float], ...]:
    """Names with their shares, which sum to 1. UsageError for anything else."""
    found: dict[str, float | None] = {}
    for part in text.split(","):
        name, equals, number = (word.strip() for word in part.partition("="))
        if not name:
            raise UsageError(f"--model {text!r}: a name is missing; write a,b or a=0.7,b=0.3")
        if name in found:
            raise UsageError(f"--model {text!r}: {name} is named twice")
        found[name] = _share(text, name, number) if equals else None
    given = [share for share in found.values() if share is not None]
    if given and len(given) < len(found):
        raise UsageError(f"--model {text!r}: give a share to each model, or to none")
    if not given:
        return tuple((name, 1.0 / len(found)) for name in found)
    return tuple((name, share / sum(given)) for name, share in found.items() if share is not None)


def _share(text: str, name: str, number: str) -> float:
    try:
        share = float(number)
    except ValueError:
        share = math.nan
    if not 0 < share < math.inf:
        raise UsageError(f"--model {text!r}: the share of {name} must be a positive number, not {number!r}")
    return share


class Several:
    """Asks one of its models for each proposal. They are closed with it."""

    def __init__(
        self, name: str, models: Sequence[Proposer], shares: Sequence[float], escalate: int | None = None
    ) -> None:
        self.name = name
        self.models, self.shares, self.escalate = tuple(models), tuple(shares), escalate

    def estimate(self, system: str, user: str) -> Estimate:
        """The dearest counts: a limit must hold whichever is asked."""
        each = [model.estimate(system, user) for model in self.models]
        return Estimate(max(one.tokens for one in each), max(one.nano_usd for one in each))

    def propose(self, request: Request) -> Reply:
        model = self.models[self.choose(request)]

        def told(attempt: Attempt) -> None:
            request.on_attempt(replace(attempt, message=f"{model.name}: {attempt.message}"))

        try:
            reply = model.propose(replace(request, on_attempt=told))
        except Stopped:
            raise
        except ProposerError as error:
            raise ProposerError(f"{model.name}: {error}", fatal=error.fatal) from error
        return replace(reply, model=model.name)

    def choose(self, request: Request) -> int:
        """The place of the model that is asked."""
        if self.escalate is None:
            random = Random(f"{request.seed}:{request.number}:model")
            return random.choices(range(len(self.models)), self.shares)[0]
        return min(request.stalled // self.escalate, len(self.models) - 1)

    def close(self) -> None:
        for model in self.models:
            model.close()
