"""Noisy engineer: a scripted proposer, wrong at a stated rate, and better by a stated amount when it is told more.

It shows whether the machinery of a method works (credit, cells, repair), and is never reported as a model's result. Its
ideas are the rewriter's rewrites. What it is told changes the odds, all of them in `Noise`:

    nothing          any idea at random
    a profile        with `focus` one that treats what bounds the first kernel (`glance`: a short profile)
    an insight       with `follow` the one of an insight that helped; it says so (`used:`)
    its own failure  mends it: removes the fault, and is broken again at `broken_again` only
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Protocol

from evoengineer.propose.fake_script import reply_text
from evoengineer.propose.protocol import Estimate, ProposerError, Reply, Request
from evoengineer.propose.rewriter.change import Change, Task

_MOST_CHANGES = 24  # of one idea that are looked at
_FAULT = "static const int noisy_fault = not_declared_anywhere;\n"
_STORE = re.compile(r"(\w+\[[^\]=]*\]\s*=\s*)(?![=\s]*3\.0f \* \()([^;=]+);")
_SPOILED = re.compile(r"(\w+\[[^\]=]*\]\s*=\s*)3\.0f \* \(([^;=]+)\);")
_BOUND = re.compile(r"bound by ([A-Za-z0-9/ -]+?)(?=[;,\n.]|$)", re.MULTILINE)
_HELPED = re.compile(r"^- \[(\d+)\] \(helped: .*?\)\)?(?:; used[^)]*\))? (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Noise:
    """The odds."""

    broken: float = 0.4  # of fresh proposals
    broken_again: float = 0.15  # of mended ones
    wrong: float = 0.5  # of the broken ones; the others do not compile
    focus: float = 0.6  # with a full profile
    glance: float = 0.3  # with a short one
    follow: float = 0.3  # with an insight that helped

    def __post_init__(self) -> None:
        for name in ("broken", "broken_again", "wrong", "focus", "glance", "follow"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie between 0 and 1, not {getattr(self, name)}")


class Idea(Protocol):
    """What the engineer needs of a rewrite."""

    @property
    def name(self) -> str: ...

    @property
    def thought(self) -> str: ...

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]: ...


def treatments() -> dict[str, tuple[str, ...]]:
    """What each of the rewriter's rewrites treats, in the words of profiles ("bound by …")."""
    from evoengineer.propose.rewriter.catalogue import REWRITES
    from evoengineer.sim.timing.explain import bound_name
    from evoengineer.sim.timing.profile import BOUND_KINDS

    return {
        rewrite.name: tuple(
            dict.fromkeys(bound_name(bound) for bound, kind in BOUND_KINDS.items() if kind in rewrite.treats)
        )
        for rewrite in REWRITES
    }


class NoisyEngineer:
    """See the module."""

    name = "noisy-engineer"

    def __init__(
        self,
        ideas: Iterable[Idea] | None = None,
        treats: Mapping[str, tuple[str, ...]] | None = None,
        noise: Noise | None = None,
    ) -> None:
        from evoengineer.propose.rewriter.catalogue import REWRITES

        self.ideas: tuple[Idea, ...] = tuple(REWRITES if ideas is None else ideas)
        self.treats = treatments() if treats is None else treats
        self.noise = noise or Noise()

    def estimate(self, system: str, user: str) -> Estimate:
        return Estimate()

    def propose(self, request: Request) -> Reply:
        source = request.parents[0] if request.parents else request.baseline
        if not source:
            raise ProposerError(
                "the noisy engineer needs a kernel to start from; this problem has no baseline", fatal=True
            )
        random = Random(f"{request.seed}:{request.number}:{request.prompt}:noisy")
        if "# A candidate that failed" in request.user:
            name, thought, used, changed = "mended", "The fault is removed.", "", mended(source)
            broken = self.noise.broken_again
        else:
            idea, change, used = self._idea(request, source, random)
            name, thought, changed = change.what, idea.thought, change.source
            broken = self.noise.broken
        if random.random() < broken:
            changed = spoiled(changed, wrong=random.random() < self.noise.wrong)
        return Reply(used + reply_text(changed, name, thought), self.name, finish="stop")

    def _idea(self, request: Request, source: str, random: Random) -> tuple[Idea, Change, str]:
        """An idea, its change, and the line that says which insight it came from."""
        ideas = list(self.ideas)
        random.shuffle(ideas)
        first, number = self._wanted(ideas, request.user, random)
        if first is not None:
            ideas.remove(first)
            ideas.insert(0, first)
        for idea in ideas:
            found = islice(idea.changes(source, Task(request.arguments), random), _MOST_CHANGES)
            changes = {each.source: each for each in found if each.source != source}
            if changes:
                used = f"used: {number}\n" if number and idea is first else ""
                return idea, random.choice(list(changes.values())), used
        raise ProposerError("no rewrite applies to the kernel: nothing to propose", fatal=True)

    def _wanted(self, ideas: list[Idea], prompt: str, random: Random) -> tuple[Idea | None, str]:
        """What the prompt suggests, if the engineer listens: an idea, and the number of the insight behind it."""
        _, heading, section = prompt.partition("# Profile\n")
        bound = _BOUND.search(section if heading else prompt)
        if bound and random.random() < (self.noise.focus if heading else self.noise.glance):
            fitting = [idea for idea in ideas if bound[1] in self.treats.get(idea.name, ())]
            if fitting:
                return fitting[0], ""
        helped = [(number, text) for number, text in _HELPED.findall(prompt)]
        if helped and random.random() < self.noise.follow:
            number, text = random.choice(helped)
            return next((idea for idea in ideas if idea.thought in text), None), number
        return None, ""


def spoiled(source: str, *, wrong: bool) -> str:
    """The text with a fault: a result that is three times too large, or a name that does not exist."""
    if wrong and _STORE.search(source):
        return _STORE.sub(r"\g<1>3.0f * (\g<2>);", source, count=1)
    return _FAULT + source


def mended(source: str) -> str:
    """The text without the fault."""
    return _SPOILED.sub(r"\g<1>\g<2>;", source.replace(_FAULT, ""))
