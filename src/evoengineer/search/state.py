"""The search so far, as a fold over two kinds of events: a proposal was planned, a proposal was settled.

The order of these events is fixed by the method's look-ahead alone (see `loop.py`), every random draw comes
from a generator of its own (seed and proposal number), and `plan` changes nothing: so the same seed and the
same answers give the same prompts, whatever the number of workers and however often the run was resumed.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from random import Random

from evoengineer.experience import lessons as experience
from evoengineer.experience.lessons import Lesson
from evoengineer.experience.structure import structure_of
from evoengineer.judge.verdict import Outcome
from evoengineer.propose import protocol
from evoengineer.search import failing, knowledge
from evoengineer.search.credit import Credit, reward
from evoengineer.search.embedding import SimilarKernels
from evoengineer.search.guidance import View
from evoengineer.search.insights import InsightBook, Use
from evoengineer.search.methods import Method
from evoengineer.search.operators import REPAIR, Operator, Parents
from evoengineer.search.reading import EDITED
from evoengineer.search.records import BASELINE_NUMBER, Failure, Kind, Member, Plan, Settled, Tried
from evoengineer.search.task import Task

_REPAIRABLE = frozenset({
    Outcome.FORBIDDEN,
    Outcome.COMPILE_ERROR,
    Outcome.CRASHED,
    Outcome.TIMED_OUT,
    Outcome.MEMORY_ERROR,
    Outcome.RACE,
    Outcome.WRONG,
    Outcome.DISHONEST,
})  # fmt: skip
_MOST_FAILURES = 8  # waiting to be repaired; older ones are given up
_MOST_FASTEST = 16
_MOST_TRIED = 60  # lines of the list of everything tried; older ones are counted only


class SearchState:
    """What plans depend on."""

    def __init__(self, method: Method, task: Task, seed: int, lessons: tuple[Lesson, ...] = ()) -> None:
        """`lessons`: what the experience library told when the run began."""
        self.method = method
        self.lessons = lessons
        self.task = task
        self.seed = seed
        self.population = method.population()
        self.insights = InsightBook()
        self.credit = Credit()
        self.best: Member | None = None
        self.fastest: list[Member] = []  # a few, for the tuner
        self.settled_count = 0  # the baseline not counted
        self._similar = SimilarKernels()
        self._failures: deque[Failure] = deque(maxlen=_MOST_FAILURES)
        self._occurrences: dict[str, int] = {}
        self._times: dict[int, float] = {}  # of valid proposals
        self._limits: dict[int, tuple[str, ...]] = {}  # what limits them
        self.tried: list[protocol.Tried] = []  # settled proposals, number 1 first, for proposers
        self._labels: dict[int, str] = {}
        self._ancestors: dict[int, tuple[int, ...]] = {}  # of failures: the parents that they had
        self._tried: deque[Tried] = deque(maxlen=_MOST_TRIED)  # trials, for prompts
        self._trials = 0
        self._repairs: dict[int, int] = {}  # depth of repairs under way, by proposal
        self._retrieves = any(each.source is Parents.SIMILAR for each in method.cycle + method.opening)

    # -- planning -----------------------------------------------------------------------------------------

    def plan(self, number: int) -> Plan:
        """The next proposal, from what has been settled so far."""
        random = Random(f"{self.seed}:{number}:plan")
        operator, parents, island, failure = self._operator(number, random)
        insights = self.insights.choose(operator.insight_count, random)
        limits = parents[0].bottlenecks if parents else self.best.bottlenecks if self.best else ()
        techniques = knowledge.choose(limits, operator.knowledge_count, random)
        tried = tuple(self._tried)
        lessons = self._lessons(operator, parents, random)
        view = View(
            self.task, parents, insights, techniques, failure, tried, self._trials - len(tried), lessons
        )
        prompt, guidance = operator.prompt(view)
        numbers = (failure.shown,) if failure else tuple(parent.number for parent in parents)
        return Plan(
            number=number,
            after=self.settled_count,
            operator=operator.name,
            guidance=guidance,
            parents=numbers,
            insights=tuple(insight.number for insight in insights),
            knowledge=(
                *(technique.name for technique in techniques),
                *(f"experience: {lesson.technique}" for lesson in lessons),
            ),
            island=island,
            prompt=prompt,
            occurrence=self._occurrences.get(prompt.id, 0),
            sources=(failure.source,) if failure else tuple(parent.source for parent in parents),
        )

    def _operator(
        self, number: int, random: Random
    ) -> tuple[Operator, tuple[Member, ...], int, Failure | None]:
        if self.method.repair and self._failures:
            return REPAIR, (), 0, self._failures[0]
        operator = self._scheduled(number, random)
        parents, island = self._parents(operator, random)
        if len(parents) < operator.fewest or not self._has_lesson(operator, parents):
            operator, parents = self.method.fallback, ()
            parents, island = self._parents(operator, random)
        return operator, parents, island, None

    def _scheduled(self, number: int, random: Random) -> Operator:
        """The method's next operator, in turn or by credit."""
        if not self.method.adaptive or number <= len(self.method.opening):
            return self.method.operator(number)
        # One that lacks parents would give way to the fallback and never earn a standing of its own.
        cycle = [each for each in self.method.cycle if self._can_work(each)] or [self.method.fallback]
        return cycle[self.credit.choose([each.name for each in cycle], random)]

    def _can_work(self, operator: Operator) -> bool:
        parents, _ = self._parents(operator, Random(0))
        return len(parents) >= operator.fewest and self._has_lesson(operator, parents)

    def _has_lesson(self, operator: Operator, parents: tuple[Member, ...]) -> bool:
        return not operator.needs_lesson or bool(self._lessons(operator, parents, Random(0)))

    def _lessons(self, operator: Operator, parents: tuple[Member, ...], random: Random) -> tuple[Lesson, ...]:
        """Techniques from elsewhere for the first parent; nothing is drawn where none is declared."""
        if not operator.experience_count or not self.lessons:
            return ()
        first = parents[0] if parents else self.best
        here = structure_of(self.task.reference, first.longest if first else None)
        source = first.source if first else self.task.baseline
        launches = len(first.launches) or None if first else None
        return experience.choose(self.lessons, here, source, operator.experience_count, random, launches)

    def _parents(self, operator: Operator, random: Random) -> tuple[tuple[Member, ...], int]:
        if operator.source is Parents.SIMILAR and self.best is not None:
            return self._similar.nearest(self.best.source, operator.parents), 0
        choice = self.population.choose(operator.parents, random)
        return choice.parents, choice.island

    def limits(self, plan: Plan) -> tuple[str, ...]:
        """What limits the plan's first parent, by its profile; the baseline's limits where it has none."""
        first = plan.parents[0] if plan.parents else BASELINE_NUMBER
        return self._limits.get(first, ())

    # -- the fold -----------------------------------------------------------------------------------------

    def planned(self, plan: Plan) -> None:
        """Fold: a proposal was planned."""
        self._occurrences[plan.prompt.id] = plan.occurrence + 1
        if plan.operator == REPAIR.name and self._failures and self._failures[0].shown in plan.parents:
            self._repairs[plan.number] = self._failures.popleft().depth + 1

    def seeded(self, settled: Settled) -> None:
        """The baseline; a problem without one starts with an empty population."""
        member = member_of(settled)
        if member is not None:
            self.task = self.task.with_baseline_time(member.time_us)
            self.population.seed(member)
            self._became_valid(member)

    def settled(self, plan: Plan, settled: Settled) -> None:
        """Fold: a proposal was settled."""
        self.settled_count += 1
        use = self.use_of(plan, settled) if settled.verdict is not None else None
        gain = None if use is None else use.gain
        charged = settled.kind is Kind.TRIAL
        self.tried.append(protocol.Tried(settled.source, settled.name, gain, charged, settled.improved))
        depth = self._repairs.pop(plan.number, 0)
        self._credit(plan, settled)
        if settled.kind is not Kind.TRIAL or settled.verdict is None:
            return
        assert use is not None
        self._note_tried(plan, settled)
        member = member_of(settled)
        if member is not None:
            self.population.add(member, plan.island)
            self._became_valid(member)
        else:
            self._ancestors[settled.number] = plan.parents
            if depth < self.method.most_repairs:
                self._note_failure(settled, depth)
        for number in plan.insights:
            if number in settled.used:  # to be shown is no evidence
                self.insights.used(number, use)
        self.insights.add(settled.thought, use)

    def _note_failure(self, settled: Settled, depth: int) -> None:
        """What can be repaired waits for it: a kernel that failed, or blocks that did not apply to one."""
        assert settled.verdict is not None
        edited = settled.verdict.details.get(EDITED)
        if settled.verdict.outcome in _REPAIRABLE:
            self._failures.append(_failure_of(settled, depth))
        elif edited is not None:
            source = self.task.baseline if edited == BASELINE_NUMBER else self.tried[edited - 1].source
            self._failures.append(replace(_failure_of(settled, depth), source=source, edited=edited))

    def use_of(self, plan: Plan, settled: Settled) -> Use:
        """What happened, with the gain over the best parent (over the baseline when there is none)."""
        assert settled.verdict is not None
        timing = settled.verdict.timing
        if timing is None:
            return Use(settled.number, settled.verdict.outcome, None, reason=failing.told(settled.verdict))
        times = [(self._times[parent], parent) for parent in self._measured(plan.parents)]
        before, parent = min(times, default=(self.task.baseline_us or timing.time_us, BASELINE_NUMBER))
        return Use(
            settled.number,
            settled.verdict.outcome,
            before / timing.time_us,
            before,
            timing.time_us,
            self._labels.get(parent, ""),
        )

    def _measured(self, parents: tuple[int, ...]) -> tuple[int, ...]:
        """Those of the parents that have a time; of a failure that was mended, what it was made from."""
        valid = tuple(parent for parent in parents if parent in self._times)
        older = tuple(each for parent in parents for each in self._ancestors.get(parent, ()))
        return valid if valid or not older else self._measured(older)

    def _credit(self, plan: Plan, settled: Settled) -> None:
        """A call without an answer says nothing about the operator; a repeated kernel was a trial for nothing."""
        if settled.kind is Kind.FAILED:
            return
        timing = settled.verdict.timing if settled.verdict else None
        paid = reward(
            valid=timing is not None,
            best_us=self.best.time_us if self.best else None,
            time_us=timing.time_us if timing else None,
        )
        self.credit.settled(plan.operator, paid)

    def _note_tried(self, plan: Plan, settled: Settled) -> None:
        assert settled.verdict is not None
        timing = settled.verdict.timing
        self._trials += 1
        self._tried.append(
            Tried(
                settled.number,
                settled.name,
                plan.parents,
                None if timing is None else timing.time_us,
                None if timing is None else timing.speedup,
                failing.told(settled.verdict) if timing is None else "",
                plan.operator == REPAIR.name,
            )
        )

    def _became_valid(self, member: Member) -> None:
        self._times[member.number] = member.time_us
        self._limits[member.number] = member.bottlenecks
        self._labels[member.number] = member.label
        if self._retrieves:
            self._similar.add(member)
        if member.beats(self.best):
            self.best = member
        self.fastest.append(member)
        self.fastest.sort(key=lambda each: (each.time_us, each.number))
        del self.fastest[_MOST_FASTEST:]


def member_of(settled: Settled) -> Member | None:
    """A valid proposal as a member; None for all others."""
    verdict = settled.verdict
    if verdict is None or verdict.timing is None:
        return None
    timing = verdict.timing
    return Member(
        number=settled.number,
        source=settled.source,
        name="baseline" if settled.number == BASELINE_NUMBER else settled.name,
        thought=settled.thought,
        time_us=timing.time_us,
        interval_us=timing.interval_us,
        speedup=timing.speedup,
        simulated=timing.simulated,
        profile=timing.profile,
        bottlenecks=knowledge.bottlenecks(verdict),
        light_us=timing.speed_of_light_us,
        launches=timing.launches,
    )


def _failure_of(settled: Settled, depth: int) -> Failure:
    assert settled.verdict is not None
    verdict = settled.verdict
    return Failure(
        settled.number,
        settled.source,
        settled.name,
        verdict.outcome,
        failing.reason(verdict),
        verdict.evidence,
        depth,
        failing.stage_of(verdict),
    )
