"""Operators: guidance + phrasing + number of parents.

The instruction is the name of a template `prompts/operator_<name>.txt`, or, in a user's own operator, a text.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from enum import StrEnum

from evoengineer.search import prompts
from evoengineer.search.guidance import (
    Evidence,
    Experience,
    Guidance,
    History,
    Insights,
    Knowledge,
    Solutions,
    TaskContext,
    View,
)
from evoengineer.search.profile_guidance import Profile
from evoengineer.search.records import Prompt


class Parents(StrEnum):
    """Where an operator's parents come from."""

    POPULATION = "population"
    SIMILAR = "similar"  # valid kernels of the run that resemble the best one
    FAILURE = "failure"  # a candidate that failed


@dataclass(frozen=True, slots=True)
class Operator:
    """How one kind of proposal is asked for."""

    name: str
    parents: int  # how many it takes at most
    guidance: tuple[Guidance, ...]
    instruction: str
    least: int | None = None  # fewest parents it works with; as many as `parents` unless given
    source: Parents = Parents.POPULATION

    @property
    def fewest(self) -> int:
        """Parents that it cannot do without."""
        return self.parents if self.least is None else self.least

    @property
    def insight_count(self) -> int:
        return max((part.count for part in self.guidance if isinstance(part, Insights)), default=0)

    @property
    def knowledge_count(self) -> int:
        return max((part.count for part in self.guidance if isinstance(part, Knowledge)), default=0)

    @property
    def experience_count(self) -> int:
        return max((part.count for part in self.guidance if isinstance(part, Experience)), default=0)

    @property
    def needs_lesson(self) -> bool:
        """Whether it has nothing to ask for without a lesson of another problem."""
        return any(isinstance(part, Experience) and part.example for part in self.guidance)

    def with_knowledge(self) -> Operator:
        """The same with I4."""
        if self.knowledge_count:
            return self
        return replace(self, guidance=(*self.guidance, Knowledge()))

    def prompt(self, view: View) -> tuple[Prompt, tuple[str, ...]]:
        """The prompt and the keys of the guidance that it really carries: a part may have nothing to tell."""
        known = f"operator_{self.instruction}" in prompts.names()
        instruction = prompts.fill(f"operator_{self.instruction}") if known else self.instruction.strip()
        rendered = [(part.key, part.render(view)) for part in self.guidance]
        told = [(key, text) for key, text in rendered if text]
        used = prompts.fill("reply_used") + "\n" if any(key == "I3" for key, _ in told) else ""
        reply = prompts.fill("reply", used=used, edits=_edits(view))
        sections = [*(text for _, text in told), f"# What to do\n\n{instruction}", reply]
        return make_prompt(prompts.fill("system"), "\n\n".join(sections) + "\n"), tuple(
            key for key, _ in told
        )


def _edits(view: View) -> str:
    """How to change a kernel that is shown; nothing where the reply has to be a file of its own."""
    if view.failure is None and not view.parents:
        return ""
    number = view.failure.shown if view.failure else view.parents[0].number
    return "\n\n" + prompts.fill("reply_edits", number=str(number))


def make_prompt(system: str, user: str) -> Prompt:
    """A prompt with its identity."""
    identity = hashlib.sha256(f"{system}\0{user}".encode()).hexdigest()[:24]
    return Prompt(system, user, identity, prompts.version())


_TASK = TaskContext()
_CURRENT = TaskContext(current=True)

# EvoEngineer-Free and -Insight: the kernel to improve is part of the task; nothing of the history is shown.
FREE = Operator("free", 1, (_CURRENT,), "free", least=0)
INSIGHT = Operator("insight", 1, (_CURRENT, Insights(3)), "insight", least=0)

# EvoEngineer-Full
INITIALISE = Operator("initialise", 0, (_TASK, Solutions(), History(), Insights(3)), "initialise")
CROSSOVER = Operator("crossover", 2, (_TASK, Solutions(), History(), Insights(3)), "crossover")
MUTATE = Operator("mutate", 1, (_TASK, Solutions(), History(), Insights(3)), "mutate")

# EvoEngineer-Solution, after Evolution of Heuristics
INITIALISE_EOH = Operator("i1", 0, (_TASK, Solutions(), History()), "initialise_eoh")
EXPLORE_DIFFERENT = Operator("e1", 2, (_TASK, Solutions(), History()), "explore_different")
EXPLORE_COMMON = Operator("e2", 2, (_TASK, Solutions(), History()), "explore_common")
MODIFY = Operator("m1", 1, (_TASK, Solutions(), History()), "modify")
PARAMETERS = Operator("m2", 1, (_TASK, Solutions(), History()), "parameters")

# FunSearch: two programs, the best last
COMPLETE = Operator("complete", 2, (_TASK, Solutions(best_last=True), History()), "complete", least=0)

# AI CUDA Engineer; its conversion and translation stages both give a kernel here, as every trial must
CONVERT = Operator(
    "convert", 0, (TaskContext(baseline=False), Solutions(), History(), Insights(3)), "convert"
)
TRANSLATE = Operator("translate", 0, (_TASK, Solutions(), History(), Insights(3)), "translate")
EVOLVE = Operator("evolve", 5, (_TASK, Solutions(), History(), Insights(3)), "evolve", least=1)
RETRIEVE = Operator(
    "retrieve", 5, (_TASK, Solutions(), History(), Insights(3)), "retrieve", least=1, source=Parents.SIMILAR
)

# Guided: by measurement. With two parents, `Cells` gives kernels whose bottlenecks differ.
_MEASURED_TASK = TaskContext(current=True, profile=False)  # `Profile` tells more
_MEASURED = (_MEASURED_TASK, Profile(), History(), Insights(3), Experience(2))
PLAN = Operator("plan", 1, _MEASURED, "plan", least=0)
BOTTLENECK = Operator("bottleneck", 1, _MEASURED, "bottleneck")
COMBINE = Operator(
    "combine",
    2,
    (
        TaskContext(baseline=False),
        Solutions(profile=False),
        Profile(),
        History(),
        Insights(3),
        Experience(2),
    ),
    "combine",
)
PARAMETRISE = Operator("parametrise", 1, _MEASURED, "parametrise")
PORT = Operator(
    "port", 1, (_MEASURED_TASK, Profile(), History(), Insights(2), Experience(1, example=True)), "port"
)

# The control: the same prompt every time, nothing carried over
SAMPLE = Operator("sample", 0, (_TASK,), "free")

REPAIR = Operator("repair", 1, (TaskContext(baseline=False), Evidence()), "repair", source=Parents.FAILURE)
