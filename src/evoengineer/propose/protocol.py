"""What the search knows of proposers: a request goes in, a reply comes out or a `ProposerError` is raised.

A proposer is called from several threads at once. It retries what can be retried itself and reports each
failed attempt through `request.on_attempt`, so that nothing is swallowed. The same request may be made again
when a run was killed while it was under way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from evoengineer.errors import EvoEngineerError


@dataclass(frozen=True, slots=True)
class Estimate:
    """The most that a call can cost."""

    tokens: int = 0
    nano_usd: int = 0


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call that gave no usable answer."""

    number: int  # of the proposal
    kind: str  # rate_limited, server_error, timed_out, disconnected, invalid_json, empty, refused
    message: str
    status: int | None = None  # of HTTP
    wait_seconds: float = 0.0  # before the next attempt; 0 when there is none
    tokens: int = 0  # that were billed all the same
    nano_usd: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """What a reply used."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0  # part of the input tokens
    nano_usd: int = 0  # cost in billionths of a dollar

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as it was given; `text` is never empty."""

    text: str
    model: str
    usage: Usage = Usage()
    finish: str = ""  # "stop", "length", …
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Tried:
    """An earlier proposal of the run that is settled."""

    source: str
    name: str
    gain: float | None  # over its best parent; None when it was not valid, or not charged
    charged: bool = True
    improved: bool = False  # the best kernel of the run when it was settled


@dataclass(frozen=True, slots=True)
class Asked:
    """A proposal as it was planned: how many were settled by then, and from what it starts."""

    number: int
    after: int
    parents: tuple[str, ...]
    bottlenecks: tuple[str, ...]  # kinds of findings on the first parent


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt, and what proposers that are no language model need besides."""

    run: str
    number: int
    system: str
    user: str
    prompt: str  # identity of the two
    occurrence: int  # how many earlier proposals of the run had this prompt
    seed: int
    parents: tuple[str, ...] = ()  # sources, the best first
    baseline: str = ""
    arguments: tuple[str, ...] = ()  # of the case that is timed, as prompts describe them
    device: str = ""  # where kernels are timed
    after: int = 0  # proposals that were settled when this one was planned
    bottlenecks: tuple[str, ...] = ()  # kinds of findings on the first parent
    tried: tuple[Tried, ...] = ()  # settled by now, in order: number 1 first
    under_way: tuple[Asked, ...] = ()  # planned before this one, not settled
    stop: threading.Event = field(default_factory=threading.Event)  # set: give up waiting to call again
    give_up: threading.Event = field(default_factory=threading.Event)  # set: give up a call under way, too
    on_attempt: Callable[[Attempt], None] = lambda attempt: None

    @property
    def stalled(self) -> int:
        """Trials without a better kernel, when this proposal was planned."""
        count = 0
        for each in self.tried[: self.after]:
            count = 0 if each.improved else count + each.charged
        return count


class Proposer(Protocol):
    """Answers prompts; see the module for what it owes."""

    @property
    def name(self) -> str:
        """As recorded with the run: `gpt-4.1`, `replay`, `rewriter`."""
        ...

    def estimate(self, system: str, user: str) -> Estimate:
        """The most that a call with this prompt can cost."""
        ...

    def propose(self, request: Request) -> Reply: ...

    def close(self) -> None: ...


class ProposerError(EvoEngineerError):
    """No answer. `fatal`: no later call will do better (a wrong key, an unknown model, a recording that has
    nothing for this prompt), so the run stops; otherwise the proposal is given up and not charged."""

    def __init__(self, message: str, *, fatal: bool = False) -> None:
        super().__init__(message)
        self.fatal = fatal


class Exhausted(ProposerError):
    """The proposer has nothing left that was not tried: the run ends, with what it has."""


class Stopped(ProposerError):
    """The run was asked to stop while a call waited to be repeated, or for its answer; the proposal stays open."""

    def __init__(self) -> None:
        super().__init__("stopped while waiting for an answer")


def clean_text(text: str) -> str:
    """Text that can be written as UTF-8: half a surrogate pair, which JSON can spell, becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")
