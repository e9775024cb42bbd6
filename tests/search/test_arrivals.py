"""The loop as a state machine: whatever arrives in whatever order, the run is the same and every trial has a verdict.

Nothing here runs in threads. Calls, builds and verdicts wait in a `Schedule`, and whenever the loop waits for news,
hypothesis decides which of them is done next, or that the process dies and the run is resumed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.runs import Answers, Outcomes, evolve
from tests.search.scripted import ScriptedJudge, reply

from evoengineer.errors import EnvironmentFailure
from evoengineer.judge.protocol import Built
from evoengineer.judge.verdict import Verdict
from evoengineer.propose.protocol import ProposerError, Request
from evoengineer.search.endings import Ending
from evoengineer.search.loop import Loop

FAILURES = ("compile_error", "wrong", "race", "crashed")
TRIALS = 8


class Died(BaseException):
    """`kill -9`, as far as the loop is concerned."""


@dataclass
class Pending:
    future: Future[Any]
    work: Callable[[], Any]


class Schedule:
    """The loop's inbox, pool and judge in one: what is under way ends when, and in which order, `choose` says."""

    def __init__(self, choose: Callable[[int], int]) -> None:
        self.choose = choose
        self.pending: list[Pending] = []
        self.news: list[tuple[str, int, Any]] = []

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.pending.append(Pending(future, lambda: function(*arguments)))
        return future

    def put(self, event: tuple[str, int, Any]) -> None:
        self.news.append(event)

    def get(self, timeout: float) -> tuple[str, int, Any]:
        while not self.news:
            self.pending = [each for each in self.pending if not each.future.cancelled()]
            assert self.pending, "the loop waits for something that will never come"
            chosen = self.pending.pop(self.choose(len(self.pending)))
            try:
                chosen.future.set_result(chosen.work())
            except Exception as error:
                chosen.future.set_exception(error)
        return self.news.pop(0)

    def shutdown(self, **how: bool) -> None:
        pass


class ScheduledJudge(ScriptedJudge):
    """Its machine fails once at each of the `broken`."""

    def __init__(self, schedule: Schedule, broken: set[str]) -> None:
        super().__init__(workers=1)
        self.pool.shutdown()
        self.pool = schedule  # type: ignore[assignment]
        self.broken = broken

    def judge(self, source: str) -> Future[Verdict]:
        if self.judged or "id=baseline" not in source:
            return super().judge(source)
        done: Future[Verdict] = Future()  # the loop waits for the baseline
        done.set_result(self._judge(source))
        return done

    def _build(self, source: str) -> Built:
        built = super()._build(source)
        # A compiler need not give the same machine code twice (a random seed, a time stamp).
        if "unstable=1" in source and built.build:
            return Built(built.kernel, f"b{sum(self.built.values()) % 3}", built.verdict)
        return built

    def _judge(self, source: str) -> Verdict:
        for text in list(self.broken):
            if text in source:
                self.broken.discard(text)
                raise EnvironmentFailure("the disk is full")
        return super()._judge(source)


def answers(shapes: list[tuple[str, int, int]]) -> Callable[[Request], str | Exception]:
    """Proposal n by its shape; after them come kernels of their own, so that every run ends."""

    def answer(request: Request) -> str | Exception:
        if request.number > len(shapes):
            return reply(f"own{request.number}", time=90)
        kind, text, build = shapes[request.number - 1]
        if kind == "failed":
            return ProposerError("no luck")
        if kind == "unparsable":
            return f"Sorry, not {text}."
        if kind == "valid":
            return reply(f"t{text}-{build}", time=50 + build, build=f"b{build}")
        if kind == "unstable":
            return reply(f"u{text}", time=60, build=f"b{build}", unstable=1)
        return reply(f"f{text}", outcome=kind, build=f"b{build}")

    return answer


def in_turn(count: int) -> int:
    return 0


def work_through(
    folder: Path,
    shapes: list[tuple[str, int, int]],
    choose: Callable[[int], int],
    *,
    lookahead: int,
    repair: bool,
    broken: set[str] | None = None,
) -> Outcomes:
    """The run to its end, through deaths and failing machines."""
    broken = broken or set()
    while True:
        schedule = Schedule(choose)

        def take_over(loop: Loop, schedule: Schedule = schedule) -> None:
            loop._inbox = schedule  # type: ignore[assignment]
            loop._pool.shutdown()
            loop._pool = schedule  # type: ignore[assignment]

        try:
            done = evolve(
                folder,
                Answers(answers(shapes)),
                trials=TRIALS,
                lookahead=lookahead,
                repair=repair,
                judge=ScheduledJudge(schedule, broken),
                during=take_over,
            )
        except Died:
            continue
        if done.result.ending in (Ending.ENVIRONMENT, Ending.PROPOSER):
            done.archive.close()
            continue
        return done


SHAPES = st.lists(
    st.tuples(
        st.sampled_from(("valid", "valid", "valid", "unstable", "failed", "unparsable", *FAILURES)),
        st.integers(0, 2),
        st.integers(0, 2),
    ),
    max_size=12,
)


@settings(max_examples=150)
@given(
    shapes=SHAPES,
    lookahead=st.integers(1, 5),
    repair=st.booleans(),
    broken=st.sets(st.sampled_from(("id=t0-0 ", "id=t1-1 ", "id=own14 "))),
    data=st.data(),
)
def test_every_order_of_arrival_gives_the_same_run(
    shapes: list[tuple[str, int, int]], lookahead: int, repair: bool, broken: set[str], data: st.DataObject
) -> None:
    deaths = data.draw(st.integers(0, 2))

    def choose(count: int) -> int:
        nonlocal deaths
        if deaths and data.draw(st.integers(0, 9)) == 9:
            deaths -= 1
            raise Died
        return data.draw(st.integers(0, count - 1))

    with tempfile.TemporaryDirectory() as name:
        how: dict[str, Any] = {"lookahead": lookahead, "repair": repair}
        plain = work_through(Path(name) / "plain", shapes, in_turn, **how)
        mixed = work_through(Path(name) / "mixed", shapes, choose, broken=broken, **how)
        for done in (plain, mixed):
            kinds = dict(done.rows("number, kind"))
            outcomes = dict(done.rows("number, outcome"))
            assert len([kind for kind in kinds.values() if kind == "trial"]) == TRIALS
            for number, kind, original in done.rows("number, kind, duplicate_of"):
                if kind == "duplicate":
                    assert original < number
                    assert kinds[original] in ("trial", "baseline")
                    assert outcomes[original] is not None
                elif kind == "trial":
                    assert outcomes[number] is not None
        if all(kind != "unstable" for kind, _, _ in shapes):
            assert mixed.canonical() == plain.canonical()
        plain.archive.close()
        mixed.archive.close()
