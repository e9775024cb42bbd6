"""Which judge gets which candidate, and what follows when a judge, a node or a build is lost.

    a node dies                 its candidates are judged again elsewhere; nobody is charged
    a judge dies, its node not  it was the candidate's doing or bad luck: again, and after three times a verdict
    a node's machine fails      again elsewhere, three times; then the run hears of it, and is resumed later
    a judge takes for ever      it is ended, so that it does not hold its GPU, and counts as a failing machine

Everything happens in one thread, which calls the methods here with what has happened; what is to be done goes to a
`Fleet`. Nothing here knows of Ray, so that tests play a cluster.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

from evoengineer.cluster.crew import BuildReport, Trouble
from evoengineer.judge.protocol import Standing
from evoengineer.judge.verdict import Outcome, Verdict

MOST_TRIES = 3
_KEPT_BUILDS = 256  # that nobody waits for

Package = object  # a packed build, wherever it lies
Answer = Callable[[int, "BuildReport | Verdict | Trouble"], None]


class Fleet(Protocol):
    """The machines. Each call returns at once; what comes of it is told to the dispatcher later."""

    def open_judge(self, judge: int, node: str) -> None:
        """`judge_ready`, or `judge_died`."""
        ...

    def end_judge(self, judge: int) -> None: ...

    def build(self, build: int, node: str, problem: str, source: str) -> None:
        """`built`, or `build_lost`."""
        ...

    def judge(
        self,
        judge: int,
        problem: str,
        kernel: str,
        build: Package,
        baseline: Verdict | None,
        baseline_build: Package | None,
    ) -> None:
        """`judged`, `judge_died` or `package_lost`."""
        ...

    def probe(self, node: str, judge: int) -> None:
        """`probed`: whether the node of a judge that died is alive."""
        ...


@dataclass(frozen=True, slots=True)
class Text:
    """A kernel's text for a problem."""

    problem: str  # by its key
    kernel: str  # identity of the text
    source: str = field(compare=False)


@dataclass(slots=True)
class _Build:
    text: Text
    number: int
    node: str
    report: BuildReport | Trouble | None = None  # None while it runs
    package: Package | None = None
    asked: list[int] = field(default_factory=list)  # who wants to hear of it
    tries: int = 1
    avoided: set[str] = field(default_factory=set)  # nodes that lost it


@dataclass(slots=True)
class _Job:
    number: int
    text: Text
    baseline: Verdict | None
    baseline_text: Text | None  # where both kernels are run in turn
    deaths: int = 0
    failures: int = 0

    @property
    def texts(self) -> tuple[Text, ...]:
        return (self.text,) if self.baseline_text is None else (self.text, self.baseline_text)


@dataclass(slots=True)
class _Judge:
    node: str
    ready: bool = False
    job: _Job | None = None
    deadline: float = 0.0
    late: bool = False


@dataclass(slots=True)
class _Node:
    judges: int
    build_cores: int
    builds: int = 0  # under way
    refused: int = 0  # judges in a row that did not start


class Dispatcher:
    """See the top. `answer` gets a submission's number and what came of it."""

    def __init__(
        self, fleet: Fleet, answer: Answer, *, limit_seconds: float, both_builds: bool = False
    ) -> None:
        """`both_builds`: a judge needs the baseline's library, too."""
        self._fleet, self._answer = fleet, answer
        self._limit_seconds, self._both_builds = limit_seconds, both_builds
        self._nodes: dict[str, _Node] = {}
        self._judges: dict[int, _Judge] = {}
        self._numbers = count(1)
        self._builds: dict[Text, _Build] = {}  # the oldest first
        self._by_number: dict[int, _Build] = {}
        self._homeless: list[_Build] = []  # that wait for a node
        self._unbuilt: list[_Job] = []
        self._waiting: deque[_Job] = deque()
        self._limbo: dict[
            int, tuple[_Job | None, bool]
        ] = {}  # of judges that died, until their node is probed
        self.most_judges = 0  # 0: as many as there are

    @property
    def standing(self) -> Standing:
        ready = sum(1 for judge in self._judges.values() if judge.ready)
        texts = {job.text for job in self._jobs()}
        texts |= {text for text, build in self._builds.items() if build.report is None}
        return Standing(len(self._nodes), ready, len(self._judges), len(texts))

    # -- what the driver asks for --------------------------------------------------------------------

    def submit_build(self, number: int, text: Text) -> None:
        build = self._build_of(text)
        if build.report is None:
            build.asked.append(number)
        else:
            self._answer(number, build.report)

    def submit_judge(
        self, number: int, text: Text, baseline: Verdict | None = None, baseline_text: Text | None = None
    ) -> None:
        job = _Job(number, text, baseline, baseline_text if self._both_builds else None)
        self._unbuilt.append(job)
        for each in job.texts:
            self._build_of(each)
        self._go_on()

    # -- what happens to nodes -----------------------------------------------------------------------

    def node_joined(self, node: str, judges: int, build_cores: int) -> None:
        """A node that may judge."""
        self._nodes[node] = _Node(judges, max(1, build_cores))
        for _ in range(judges):
            self._open_judge(node)
        homeless, self._homeless = self._homeless, []
        for build in homeless:
            self._start(build)

    def node_left(self, node: str) -> None:
        """Judges and builds there are lost; Ray may tell so only later, or not at all."""
        if self._nodes.pop(node, None) is None:
            return
        for number in [each for each, judge in self._judges.items() if judge.node == node]:
            self._again(self._judges.pop(number).job)
            self._fleet.end_judge(number)
        for build in list(self._builds.values()):
            if build.node == node and build.report is None:
                self._start(build)
        self._go_on()

    # -- what happens to judges ----------------------------------------------------------------------

    def judge_ready(self, judge: int) -> None:
        if judge in self._judges:
            self._judges[judge].ready = True
            if (node := self._nodes.get(self._judges[judge].node)) is not None:
                node.refused = 0
            self._go_on()

    def judge_died(self, judge: int) -> None:
        """Whose doing it was shows when its node is asked."""
        lost = self._judges.pop(judge, None)
        if lost is None:
            return
        self._fleet.end_judge(judge)
        self._limbo[judge] = (lost.job, lost.late)
        if not lost.ready and (node := self._nodes.get(lost.node)) is not None:
            node.refused += 1
        self._fleet.probe(lost.node, judge)

    def probed(self, judge: int, node: str, alive: bool) -> None:
        job, late = self._limbo.pop(judge, (None, False))
        if alive and node in self._nodes:
            if job is not None and late:
                self._trouble(job, Trouble(f"judging took more than {self._limit_seconds:.0f} s", True))
            elif job is not None:
                self._died(job)
            if self._nodes[node].refused < MOST_TRIES:
                self._open_judge(node)
        else:
            self._again(job)
        self._go_on()

    def judged(self, judge: int, result: Verdict | Trouble) -> None:
        found = self._judges.get(judge)
        if found is None or found.job is None:
            return  # taken for dead, and judged elsewhere
        job, found.job = found.job, None
        if isinstance(result, Trouble):
            self._trouble(job, result)
        else:
            self._answer(job.number, result)
            self._forget_builds()
        self._go_on()

    def package_lost(self, judge: int, why: str) -> None:
        """The node that held a build has gone: it is built again."""
        found = self._judges.get(judge)
        if found is None or found.job is None:
            return
        job, found.job = found.job, None
        for text in job.texts:
            build = self._builds.pop(text, None)
            if build is not None:
                self._by_number.pop(build.number, None)
        self._trouble(job, Trouble(f"a build was lost: {why}", True))
        self._go_on()

    def tick(self, now: float) -> None:
        """End judges that are late."""
        for number, judge in list(self._judges.items()):
            if judge.job is not None and judge.deadline == 0.0:
                judge.deadline = now + self._limit_seconds
            elif judge.job is not None and now > judge.deadline:
                judge.late = True
                self.judge_died(number)

    # -- what happens to builds ----------------------------------------------------------------------

    def built(self, number: int, report: BuildReport | Trouble, package: Package | None) -> None:
        build = self._finished(number)
        if build is None:
            return
        if isinstance(report, Trouble) and report.machine and build.tries < MOST_TRIES:
            build.tries += 1
            build.avoided.add(build.node)  # a dead node is not known to be dead at once
            self._start(build)
            return
        build.report, build.package = report, package
        asked, build.asked = build.asked, []
        for each in asked:
            self._answer(each, report)
        if isinstance(report, Trouble):
            del self._builds[build.text]  # whoever asks again may have better luck
            hit = [job for job in self._unbuilt if build.text in job.texts]
            self._unbuilt = [job for job in self._unbuilt if job not in hit]
            for job in hit:
                self._answer(job.number, report)
        self._go_on()

    def build_lost(self, number: int, why: str) -> None:
        self.built(number, Trouble(f"the build was lost: {why}", True), None)

    # -- inside --------------------------------------------------------------------------------------

    def _open_judge(self, node: str) -> None:
        if self.most_judges and len(self._judges) >= self.most_judges:
            return
        number = next(self._numbers)
        self._judges[number] = _Judge(node)
        self._fleet.open_judge(number, node)

    def _build_of(self, text: Text) -> _Build:
        build = self._builds.get(text)
        if build is None:
            build = self._builds[text] = _Build(text, 0, "")
            self._start(build)
        return build

    def _start(self, build: _Build) -> None:
        """On the node with the shortest queue, among those that have not lost it."""
        self._finished(build.number)
        if not self._nodes:
            self._homeless.append(build)
            return
        name = min(
            [each for each in self._nodes if each not in build.avoided] or self._nodes,
            key=lambda each: self._nodes[each].builds / self._nodes[each].build_cores,
        )
        self._nodes[name].builds += 1
        build.number, build.node = next(self._numbers), name
        self._by_number[build.number] = build
        self._fleet.build(build.number, name, build.text.problem, build.text.source)

    def _finished(self, number: int) -> _Build | None:
        build = self._by_number.pop(number, None)
        if build is not None and build.node in self._nodes:
            self._nodes[build.node].builds -= 1
        return build

    def _forget_builds(self) -> None:
        if len(self._builds) <= _KEPT_BUILDS:
            return
        wanted = {text for job in self._jobs() for text in job.texts}
        for text, build in list(self._builds.items())[:-_KEPT_BUILDS]:
            if build.report is not None and text not in wanted:
                del self._builds[text]

    def _jobs(self) -> list[_Job]:
        under_way = (judge.job for judge in self._judges.values())
        limbo = (job for job, _ in self._limbo.values())
        return [*self._unbuilt, *self._waiting, *(job for job in (*under_way, *limbo) if job is not None)]

    def _go_on(self) -> None:
        """Give built candidates to free judges, in the order in which they came."""
        still: list[_Job] = []
        for job in self._unbuilt:
            reports = [self._build_of(text).report for text in job.texts]
            if any(report is None for report in reports):
                still.append(job)
                continue
            refused = next((each for each in reports if isinstance(each, BuildReport) and each.verdict), None)
            if refused is not None and refused.verdict is not None:
                self._answer(job.number, refused.verdict)
            else:
                self._waiting.append(job)
        self._unbuilt = still
        for number, judge in self._judges.items():
            if not self._waiting:
                return
            if judge.ready and judge.job is None:
                self._give(number, judge, self._waiting.popleft())

    def _give(self, number: int, judge: _Judge, job: _Job) -> None:
        judge.job, judge.deadline = job, 0.0
        other = None if job.baseline_text is None else self._build_of(job.baseline_text).package
        build = self._build_of(job.text).package
        self._fleet.judge(number, job.text.problem, job.text.kernel, build, job.baseline, other)

    def _again(self, job: _Job | None) -> None:
        if job is not None:
            self._unbuilt.insert(0, job)

    def _died(self, job: _Job) -> None:
        job.deaths += 1
        if job.deaths < MOST_TRIES:
            self._again(job)
            return
        summary = f"its judge's process died {job.deaths} times while it was judged"
        evidence = "Everything around the kernel was in order each time: other kernels were judged on the same nodes."
        verdict = Verdict(Outcome.CRASHED, summary, evidence, {"error": "judge_died"}, kernel=job.text.kernel)
        self._answer(job.number, verdict)

    def _trouble(self, job: _Job, trouble: Trouble) -> None:
        job.failures += 1
        if trouble.machine and job.failures < MOST_TRIES:
            self._again(job)
        else:
            self._answer(job.number, trouble)
