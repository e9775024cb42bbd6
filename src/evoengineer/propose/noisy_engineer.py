"""Noisy engineer: a scripted proposer, wrong at a stated rate, and better by a stated amount when it is told more.

It shows whether the machinery of a method works (credit, cells, repair), and is never reported as a model's result. Its
ideas are the rewriter's rewrites, or those of a made-up landscape. What it is told changes the odds, all in `Noise`:

    nothing          any idea at random; a share of them is useless
    a profile        with `focus` one that treats what bounds the first kernel (`glance`: a short profile)
    an insight       with `follow` the one of an insight that helped; it says so (`used:`)
    its own failure  mends it: removes the fault, and is broken again at `broken_again` only

and what it is asked for, where it can (`Craft` for all but the first two):

    remove the bottleneck    `asked` takes the place of `focus`
    plan first               `useless_planned` takes the place of `useless`
    combine two kernels      takes each idea that only the second one has with `both`
    port a technique         introduces the one that the prompt names with `ports`
    expose the sizes         does so, with `exposes`
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
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
_LESSON = re.compile(r"^# Experience from other problems\n.*?^- ([^:\n]+):", re.MULTILINE | re.DOTALL)


class Wish(StrEnum):
    """What a prompt asks for, by its words under `# What to do`."""

    ANY = ""
    REPAIR = "Mend the candidate"
    BOTTLENECK = "Remove the bottleneck"
    PLAN = "First plan"
    COMBINE = "Write one kernel out of the two"
    CROSS = "Combine the strengths"  # the same, of method `full`
    PORT = "Port the technique"
    EXPOSE = "Keep the design of the kernel above. Make its sizes"


def wish_of(prompt: str) -> Wish:
    """What is asked for; any change where the words are not known."""
    asked = prompt.rpartition("# What to do\n\n")[2]
    return next((wish for wish in Wish if wish and asked.startswith(wish)), Wish.ANY)


@dataclass(frozen=True, slots=True)
class Noise:
    """The odds."""

    broken: float = 0.4  # of fresh proposals
    broken_again: float = 0.15  # of mended ones
    wrong: float = 0.5  # of the broken ones; the others do not compile
    useless: float = 0.25  # of fresh proposals: they change nothing that matters
    useless_planned: float = 0.1  # of those that were planned first
    focus: float = 0.6  # with a full profile
    asked: float = 0.8  # the same, where that is what is asked for
    glance: float = 0.3  # with a short one
    follow: float = 0.3  # with an insight that helped
    both: float = 0.7  # of what only the second of two kernels has, for a combination
    ports: float = 0.8
    exposes: float = 0.9

    def __post_init__(self) -> None:
        for each in fields(self):
            if not 0 <= getattr(self, each.name) <= 1:
                raise ValueError(f"{each.name} must lie between 0 and 1, not {getattr(self, each.name)}")


class Idea(Protocol):
    """What the engineer needs of a rewrite."""

    @property
    def name(self) -> str: ...

    @property
    def thought(self) -> str: ...

    def changes(self, source: str, task: Task, random: Random) -> Iterator[Change]: ...


class Craft(Protocol):
    """What only some engineers can do to a text; None where there is nothing to do."""

    def combined(self, first: str, second: str, share: float, random: Random) -> Change | None:
        """The first kernel with that share of what only the second one has."""
        ...

    def ported(self, source: str, technique: str) -> Change | None:
        """The kernel with a technique by its name."""
        ...

    def exposed(self, source: str, random: Random) -> Change | None:
        """The kernel with its sizes as constants that a tuner finds."""
        ...


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
        craft: Craft | None = None,
    ) -> None:
        from evoengineer.propose.rewriter.catalogue import REWRITES

        self.ideas: tuple[Idea, ...] = tuple(REWRITES if ideas is None else ideas)
        self.treats = treatments() if treats is None else treats
        self.noise = noise or Noise()
        self.craft = craft

    def estimate(self, system: str, user: str) -> Estimate:
        return Estimate()

    def propose(self, request: Request) -> Reply:
        source = request.parents[0] if request.parents else request.baseline
        if not source:
            raise ProposerError(
                "the noisy engineer needs a kernel to start from; this problem has no baseline", fatal=True
            )
        random = Random(f"{request.seed}:{request.number}:{request.prompt}:noisy")
        wish = wish_of(request.user)
        if wish is Wish.REPAIR:
            name, thought, used, changed = "mended", "The fault is removed.", "", mended(source)
            broken = self.noise.broken_again
        else:
            name, thought, changed, used = self._fresh(wish, request, source, random)
            broken = self.noise.broken
        if random.random() < broken:
            changed = spoiled(changed, wrong=random.random() < self.noise.wrong)
        return Reply(used + reply_text(changed, name, thought), self.name, finish="stop")

    def _fresh(self, wish: Wish, request: Request, source: str, random: Random) -> tuple[str, str, str, str]:
        """Name, thought, text, and the line that says which insight it came from."""
        made = self._crafted(wish, request, source, random)
        if made is not None and made.source != source:
            return made.what, f"{made.what}, as was asked.", made.source, ""
        useless = self.noise.useless_planned if wish is Wish.PLAN else self.noise.useless
        if random.random() < useless:
            return "another look", "The same with other names.", idle(source, request.number), ""
        idea, change, used = self._idea(wish, request, source, random)
        return change.what, idea.thought, change.source, used

    def _crafted(self, wish: Wish, request: Request, source: str, random: Random) -> Change | None:
        """What was asked for, where this engineer can do it and does."""
        if self.craft is None:
            return None
        if wish in (Wish.COMBINE, Wish.CROSS) and len(request.parents) > 1:
            return self.craft.combined(source, request.parents[1], self.noise.both, random)
        lesson = _LESSON.search(request.user)
        if wish is Wish.PORT and lesson and random.random() < self.noise.ports:
            return self.craft.ported(source, lesson[1])
        if wish is Wish.EXPOSE and random.random() < self.noise.exposes:
            return self.craft.exposed(source, random)
        return None

    def _idea(self, wish: Wish, request: Request, source: str, random: Random) -> tuple[Idea, Change, str]:
        """An idea, its change, and the line that says which insight it came from."""
        ideas = list(self.ideas)
        random.shuffle(ideas)
        wanted, number = self._wanted(wish, ideas, request.user, random)
        for idea in (*wanted, *(each for each in ideas if each not in wanted)):
            found = islice(idea.changes(source, Task(request.arguments), random), _MOST_CHANGES)
            changes = {each.source: each for each in found if each.source != source}
            if changes:
                used = f"used: {number}\n" if number and idea in wanted else ""
                return idea, random.choice(list(changes.values())), used
        raise ProposerError("no rewrite applies to the kernel: nothing to propose", fatal=True)

    def _wanted(self, wish: Wish, ideas: list[Idea], prompt: str, random: Random) -> tuple[list[Idea], str]:
        """What the prompt suggests, if the engineer listens: ideas, and the number of the insight behind them."""
        _, heading, section = prompt.partition("# Profile\n")
        bound = _BOUND.search(section if heading else prompt)
        full = self.noise.asked if wish is Wish.BOTTLENECK else self.noise.focus
        if bound and random.random() < (full if heading else self.noise.glance):
            fitting = [idea for idea in ideas if bound[1] in self.treats.get(idea.name, ())]
            if fitting:
                return fitting, ""
        helped = [(number, text) for number, text in _HELPED.findall(prompt)]
        if helped and random.random() < self.noise.follow:
            number, text = random.choice(helped)
            return [idea for idea in ideas if idea.thought in text][:1], number
        return [], ""


def idle(source: str, number: int) -> str:
    """Another text of the same kernel."""
    return source.rstrip("\n") + f"\nstatic const int noisy_idle_{number} = {number};\n"


def spoiled(source: str, *, wrong: bool) -> str:
    """The text with a fault: a result that is three times too large, or a name that does not exist."""
    if wrong and _STORE.search(source):
        return _STORE.sub(r"\g<1>3.0f * (\g<2>);", source, count=1)
    return _FAULT + source


def mended(source: str) -> str:
    """The text without the fault."""
    return _SPOILED.sub(r"\g<1>\g<2>;", source.replace(_FAULT, ""))
