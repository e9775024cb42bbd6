"""Guidance: the parts that a prompt can carry. An operator lists the ones it wants, in order.

    I1  TaskContext   the card, CUDA version, reference, shapes, constraints, the baseline's time; with
                      `current`, also the kernel that is to be improved
    I2  Solutions     earlier kernels with their times and short profiles
    history  History  one line for everything that was tried, failures included; for methods that show history
    I3  Insights      reasons that were given before, each with what came of it
    I4  Knowledge     techniques for what limits the kernel at hand
    experience  Experience  techniques that paid on other problems, with where they were proved
    repair  Evidence  the candidate's own failure: compiler messages, wrong results

A part only renders what the plan has chosen (`View`); choosing is `state.py`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from evoengineer.experience.lessons import Lesson
from evoengineer.search.insights import Insight
from evoengineer.search.knowledge import Technique
from evoengineer.search.prompts import fill
from evoengineer.search.records import BASELINE_NUMBER, Failure, Member, Tried
from evoengineer.search.task import Task, listed

BASELINE_LABEL = f'kernel {BASELINE_NUMBER}, "baseline"'


@dataclass(frozen=True, slots=True)
class View:
    """What was chosen for one prompt."""

    task: Task
    parents: tuple[Member, ...] = ()  # the best first
    insights: tuple[Insight, ...] = ()
    knowledge: tuple[Technique, ...] = ()
    failure: Failure | None = None
    tried: tuple[Tried, ...] = ()  # the newest last
    tried_before: int = 0  # older ones that are no longer listed
    lessons: tuple[Lesson, ...] = ()  # of other problems


class Guidance(Protocol):
    """A part that a prompt can carry."""

    @property
    def key(self) -> str:
        """I1, I2, I3, I4, or a name of the user's own."""
        ...

    def render(self, view: View) -> str:
        """A section of the prompt; empty when there is nothing to tell."""
        ...


@dataclass(frozen=True, slots=True)
class TaskContext:
    """I1: what is to be computed, and where."""

    current: bool = False  # the first parent is the kernel to improve, not a historical solution
    baseline: bool = True  # show the baseline's source when there is no current kernel
    profile: bool = True  # the current kernel's short profile; not where a section of its own tells more

    @property
    def key(self) -> str:
        return "I1"

    def render(self, view: View) -> str:
        task = view.task
        text = _task_text(task)
        if self.current and view.parents:
            kernel = view.parents[0]
            return text + "\n\n" + fill("current", **_kernel_values(kernel, profile=self.profile))
        shown = any(parent.number == BASELINE_NUMBER for parent in view.parents)  # as a solution
        if self.baseline and task.baseline and not shown:
            return text + "\n\n" + fill("baseline", label=BASELINE_LABEL, code=task.baseline.strip())
        return text


@dataclass(frozen=True, slots=True)
class Solutions:
    """I2: earlier kernels."""

    best_last: bool = False  # as in FunSearch, whose model continues the sequence
    profile: bool = True  # short profiles; not where a section of its own tells more

    @property
    def key(self) -> str:
        return "I2"

    def render(self, view: View) -> str:
        ordered = view.parents[::-1] if self.best_last else view.parents
        shown = [
            fill("solution", place=str(place), **_kernel_values(member, profile=self.profile))
            for place, member in enumerate(ordered, 1)
        ]
        return fill("solutions", solutions="\n\n".join(shown)) if shown else ""


@dataclass(frozen=True, slots=True)
class History:
    """Everything tried so far, a line each: identical ideas need not be had twice."""

    @property
    def key(self) -> str:
        return "history"

    def render(self, view: View) -> str:
        if not view.tried:
            return ""
        before = f"({view.tried_before} older ones are not listed.)\n" if view.tried_before else ""
        return fill("history", before=before, tried=listed([each.text() for each in view.tried]))


@dataclass(frozen=True, slots=True)
class Insights:
    """I3: what was thought before, and what came of it."""

    count: int = 3

    @property
    def key(self) -> str:
        return "I3"

    def render(self, view: View) -> str:
        lines = [insight.shown() for insight in view.insights]
        return fill("insights", insights=listed(lines)) if lines else ""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """I4: techniques for the bottleneck."""

    count: int = 2

    @property
    def key(self) -> str:
        return "I4"

    def render(self, view: View) -> str:
        lines = [f"{technique.name}: {technique.text}" for technique in view.knowledge]
        profile = next((member.profile for member in view.parents if member.profile), "")
        profile = f"Profile of the kernel at hand: {profile.strip()}\n\n" if profile else ""
        return fill("knowledge", profile=profile, knowledge=listed(lines)) if lines else ""


@dataclass(frozen=True, slots=True)
class Experience:
    """What paid on other problems. With `example`, also how it looks there; there must be one then."""

    count: int = 2
    example: bool = False

    @property
    def key(self) -> str:
        return "experience"

    def render(self, view: View) -> str:
        if not view.lessons:
            return ""
        shown = view.lessons[: self.count]
        text = fill("experience", lessons=listed([lesson.shown() for lesson in shown]))
        example = shown[0]
        if self.example and example.excerpt:
            place = example.example_place or "another problem"
            text += "\n\n" + fill(
                "experience_example",
                technique=example.technique,
                place=place,
                thought=f' ("{example.thought}")' if example.thought else "",
                code=example.excerpt,
            )
        return text


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was wrong with a candidate."""

    longest: int = 4000  # characters

    @property
    def key(self) -> str:
        return "repair"

    def render(self, view: View) -> str:
        failure = view.failure
        if failure is None:
            return ""
        evidence = failure.evidence.strip() or "(no further evidence)"
        if len(evidence) > self.longest:
            evidence = evidence[: self.longest] + "\n[shortened]"
        return fill(
            "failure",
            label=f'Kernel {failure.number}, "{failure.name}"'
            if failure.edited is None
            else f"Your edit of kernel {failure.edited}",
            outcome=str(failure.outcome),
            stage=f" ({failure.stage})" if failure.stage and failure.stage not in failure.summary else "",
            summary=failure.summary.strip(),
            evidence=evidence,
            whose="Its source"
            if failure.edited is None
            else f"The source of kernel {failure.edited}, unchanged",
            code=failure.source.strip(),
        )


@lru_cache(maxsize=8)
def _task_text(task: Task) -> str:
    """The same for every prompt of a run."""
    return fill(
        "task",
        title=task.title,
        reference=task.reference.strip(),
        arguments=listed(task.arguments) or "- see the reference",
        bench=f" ({task.bench})" if task.bench else "",
        notes="".join(f"\n\n{note}" for note in task.notes),
        outputs=listed(task.outputs) or "- see the reference",
        cases=listed(task.cases) or "- the bench case only",
        inputs=f"Each with several kinds of values: {task.inputs}.\n" if task.inputs else "",
        card=listed(task.card),
        cuda=task.cuda,
        compiler=f", nvcc with {task.compiler}" if task.compiler else "",
        declaration=f"`{task.declaration}`"
        if task.declaration
        else "`forward` that takes and returns `torch::Tensor`",
        tolerance=task.tolerance,
        timing=listed(task.timing) or "- as the device tells it",
        baseline_time=_baseline_time(task),
    )


def _kernel_values(member: Member, *, profile: bool) -> dict[str, str]:
    time = f"{member.time_us:.2f} us{' (simulated)' if member.simulated else ''}"
    if member.speedup is not None:
        time += f", {member.speedup:.2f}x the baseline's speed"
    if member.light_share is not None:
        time += f", {member.light_share:.0%} of the speed of light"
    # Without launches there is no longer section either, and a device may still have something to say.
    brief = member.profile.strip() if profile or not member.launches else ""
    return {
        "label": member.label,
        "time": time,
        "profile": f"\n\nIts profile:\n{brief}" if brief else "",
        "code": member.source.strip(),
    }


def _baseline_time(task: Task) -> str:
    label = " (simulated)" if task.simulated else ""
    known = "No baseline kernel was timed."
    if task.baseline_us is not None:
        known = f"The baseline kernel takes {task.baseline_us:.2f} us{label} on the bench case."
    if task.light_us is None:
        return known
    light = f"The speed of light, the least possible time, is {task.light_us:.2f} us: {task.light_reason}."
    least = task.light_us
    if task.reach_us is not None:
        least = task.reach_us
        light += (
            " No kernel quite gets there: with the start of one launch and the part of bandwidth and units that is "
            f"never reached, a perfect one takes about {least:.1f} us."
        )
    if task.baseline_us is None:
        return f"{known} {light}"
    headroom = max(1.0, task.baseline_us / least)
    return f"{known} {light} So about {headroom:.2f}x the baseline's speed can be reached at most."
