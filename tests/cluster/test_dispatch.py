"""Who judges what, and what follows when something dies: a cluster that is played, event by event."""

from __future__ import annotations

from typing import Any

import pytest

from evoengineer.cluster.crew import BuildReport, Trouble
from evoengineer.cluster.dispatch import Dispatcher, Text
from evoengineer.judge.verdict import Outcome, Verdict

WRONG = Verdict(Outcome.WRONG, "wrong")


class Played:
    """A fleet that notes what it is asked to do, and a dispatcher of it."""

    def __init__(self, *, both_builds: bool = False) -> None:
        self.builds: list[tuple[int, str, str]] = []  # number, node, source
        self.judges: dict[int, str] = {}  # node by judge
        self.given: dict[int, tuple[str, Any, Any]] = {}  # kernel and packages by judge
        self.probes: list[tuple[str, int]] = []
        self.answers: dict[int, Any] = {}
        self.dispatcher = Dispatcher(self, self.answered, limit_seconds=100, both_builds=both_builds)

    def answered(self, number: int, result: object) -> None:
        assert number not in self.answers, "answered twice"
        self.answers[number] = result

    def open_judge(self, judge: int, node: str) -> None:
        self.judges[judge] = node

    def end_judge(self, judge: int) -> None:
        self.judges.pop(judge, None)
        self.given.pop(judge, None)

    def build(self, build: int, node: str, problem: str, source: str) -> None:
        self.builds.append((build, node, source))

    def judge(
        self, judge: int, problem: str, kernel: str, build: Any, baseline: Any, baseline_build: Any
    ) -> None:
        assert judge not in self.given, "one candidate at a time"
        self.given[judge] = (kernel, build, baseline_build)

    def probe(self, node: str, judge: int) -> None:
        self.probes.append((node, judge))

    # -- what happens on the cluster -------------------------------------------------------------------

    def join(self, node: str, judges: int = 1) -> None:
        self.dispatcher.node_joined(node, judges, 1)
        for judge, place in self.judges.items():
            if place == node:
                self.dispatcher.judge_ready(judge)

    def submit(self, number: int, kernel: str) -> None:
        self.dispatcher.submit_judge(number, Text("p", kernel, f"source of {kernel}"))

    def finish_builds(self) -> None:
        builds, self.builds = self.builds, []
        for number, _, source in builds:
            self.dispatcher.built(number, BuildReport(f"code of {source}"), f"package of {source}")

    def judge_of(self, kernel: str) -> int:
        return next(judge for judge, (given, *_) in self.given.items() if given == kernel)

    def die(self, kernel: str, *, node_alive: bool) -> None:
        """The judge that holds the kernel dies; its node is asked, and its successor is ready at once."""
        judge = self.judge_of(kernel)
        before = set(self.judges)
        self.dispatcher.judge_died(judge)
        node, probed = self.probes.pop()
        assert probed == judge
        self.dispatcher.probed(judge, node, node_alive)
        for new in set(self.judges) - before:
            self.dispatcher.judge_ready(new)


@pytest.fixture
def played() -> Played:
    return Played()


def test_in_the_order_in_which_they_came(played: Played) -> None:
    for number, kernel in enumerate("abc", 1):
        played.submit(number, kernel)
    played.join("one")
    played.finish_builds()
    for number, kernel in enumerate("abc", 1):
        ((judge, (given, package, _)),) = played.given.items()
        assert (given, package) == (kernel, f"package of source of {kernel}")
        played.given.clear()
        played.dispatcher.judged(judge, WRONG)
        assert played.answers[number] == WRONG
    assert played.dispatcher.standing.under_way == 0


def test_three_deaths_are_a_verdict(played: Played) -> None:
    played.join("one")
    played.submit(1, "a")
    played.finish_builds()
    for _ in range(2):
        played.die("a", node_alive=True)
        assert not played.answers
    played.die("a", node_alive=True)
    assert played.answers[1].outcome is Outcome.CRASHED
    assert not played.answers[1].device  # what marks it as not to be kept
    assert len(played.judges) == 1


def test_deaths_of_nodes_are_not_counted(played: Played) -> None:
    names = [f"node {k}" for k in range(6)]
    for name in names:
        played.join(name)
    played.submit(1, "a")
    played.finish_builds()
    for _ in range(5):
        node = played.judges[played.judge_of("a")]
        played.die("a", node_alive=False)
        played.dispatcher.node_left(node)
        assert not played.answers
    played.dispatcher.judged(played.judge_of("a"), WRONG)
    assert played.answers[1] == WRONG


def test_a_node_that_leaves_gives_its_candidates_back(played: Played) -> None:
    played.join("one")
    played.submit(1, "a")
    played.finish_builds()
    old = played.judge_of("a")
    played.dispatcher.node_left("one")
    assert not played.given
    played.join("two")
    new = played.judge_of("a")
    played.dispatcher.judged(old, Verdict(Outcome.RACE, "too late"))
    assert not played.answers
    played.dispatcher.judged(new, WRONG)
    assert played.answers == {1: WRONG}


def test_builds_move_to_a_node_that_did_not_lose_them(played: Played) -> None:
    played.join("one")
    played.join("two")
    played.submit(1, "a")
    ((number, node, _),) = played.builds
    played.builds.clear()
    played.dispatcher.build_lost(number, "no worker")
    assert played.builds[0][1] != node
    played.finish_builds()
    assert played.judge_of("a")


def test_builds_under_way_on_a_node_that_leaves(played: Played) -> None:
    played.join("one")
    played.submit(1, "a")
    played.dispatcher.node_left("one")
    played.builds.clear()
    played.join("two")
    assert [node for _, node, _ in played.builds] == ["two"]


def test_a_lost_package_is_built_again(played: Played) -> None:
    played.join("one")
    played.submit(1, "a")
    played.finish_builds()
    judge = played.judge_of("a")
    played.given.clear()
    played.dispatcher.package_lost(judge, "its node has gone")
    assert len(played.builds) == 1
    played.finish_builds()
    played.dispatcher.judged(played.judge_of("a"), WRONG)
    assert played.answers == {1: WRONG}


def test_a_failing_machine_is_reported_after_three_tries(played: Played) -> None:
    played.join("one")
    played.submit(1, "a")
    played.finish_builds()
    full = Trouble("the disk is full", machine=True)
    for _ in range(3):
        assert not played.answers
        judge = played.judge_of("a")
        played.given.clear()
        played.dispatcher.judged(judge, full)
    assert played.answers == {1: full}


def test_who_hangs_does_not_keep_its_judge(played: Played) -> None:
    played.join("one")
    played.submit(1, "a")
    played.finish_builds()
    judge = played.judge_of("a")
    played.dispatcher.tick(1000)
    played.dispatcher.tick(1099)
    assert judge in played.judges
    played.dispatcher.tick(1101)
    assert judge not in played.judges
    played.dispatcher.probed(judge, "one", True)
    assert len(played.judges) == 1


def test_a_text_that_does_not_compile_takes_no_judge(played: Played) -> None:
    played.join("one")
    played.submit(1, "a")
    ((number, *_),) = played.builds
    verdict = Verdict(Outcome.COMPILE_ERROR, "no")
    played.dispatcher.built(number, BuildReport("", verdict), None)
    assert played.answers == {1: verdict}
    assert not played.given


def test_real_gpus_need_the_baselines_build_too() -> None:
    played = Played(both_builds=True)
    played.join("one")
    played.dispatcher.submit_judge(1, Text("p", "a", "source of a"), WRONG, Text("p", "b", "source of b"))
    assert len(played.builds) == 2
    played.finish_builds()
    ((kernel, build, baseline),) = played.given.values()
    assert (kernel, build, baseline) == ("a", "package of source of a", "package of source of b")
