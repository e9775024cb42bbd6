"""The loop: duplicates, failures, limits, early stops, interruption, resuming."""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import Future
from pathlib import Path

import pytest
from tests.search.runs import Answers, evolve
from tests.search.scripted import ScriptedJudge, kernel, reply, task

from evoengineer.errors import EnvironmentFailure, EvoEngineerError
from evoengineer.judge.protocol import Built
from evoengineer.judge.verdict import Verdict
from evoengineer.propose.protocol import Exhausted, ProposerError, Request, Stopped
from evoengineer.search.budget import Budget
from evoengineer.search.endings import Ending, LoopOptions
from evoengineer.search.loop import Loop


def faster(request: Request) -> str:
    return reply(f"k{request.number}", time=100 - request.number)


def test_the_baseline_is_seeded_free_of_charge(tmp_path: Path) -> None:
    done = evolve(tmp_path, Answers(faster), trials=3)
    assert done.rows("number, kind, trial, time_us")[0] == (0, "baseline", None, 100.0)
    assert "The baseline kernel takes 100.00 us (simulated)" in str(done.loop.proposer.prompt(1))  # type: ignore[attr-defined]


def test_an_invalid_baseline_ends_the_run_before_anything_is_paid(tmp_path: Path) -> None:
    answers = Answers(faster)
    with pytest.raises(EvoEngineerError, match="baseline kernel of toy is not valid"):
        evolve(tmp_path, answers, about=task(baseline=kernel("bad", outcome="wrong")))
    assert answers.requests == []


def test_a_problem_without_a_baseline_starts_empty(tmp_path: Path) -> None:
    done = evolve(tmp_path, Answers(faster), about=task(baseline=""), trials=6)
    assert done.result.progress.trials == 6
    assert done.rows("number")[0] == (1,)


def test_the_same_text_is_not_judged_again_and_not_charged(tmp_path: Path) -> None:
    def answer(request: Request) -> str:
        text = reply("same" if request.number % 2 else f"k{request.number}", time=50)
        return (
            text.replace("__global__", "// a comment changes nothing\n__global__")
            if request.number > 2
            else text
        )

    done = evolve(tmp_path, Answers(answer), trials=5)
    assert done.rows("number, duplicate_of", "kind = 'duplicate'") == [(3, 1), (5, 1), (7, 1)]
    assert done.judge.judged["same"] == 1
    assert done.judge.built["same"] == 1


def test_the_baseline_given_back_is_a_duplicate(tmp_path: Path) -> None:
    def answer(request: Request) -> str:
        return f"```cuda\n{kernel('baseline', time=100.0)}```" if request.number == 1 else faster(request)

    done = evolve(tmp_path, Answers(answer), trials=2)
    assert done.rows("duplicate_of", "number = 1") == [(0,)]


def test_the_same_machine_code_is_built_but_not_judged_and_not_charged(tmp_path: Path) -> None:
    def answer(request: Request) -> str:
        return reply(
            f"k{request.number}", time=50, build="one" if request.number in (1, 3) else f"b{request.number}"
        )

    done = evolve(tmp_path, Answers(answer), trials=4, lookahead=1)
    assert done.rows("number, duplicate_of, build", "kind = 'duplicate'") == [(3, 1, "one")]
    assert done.judge.built["k3"] == 1
    assert done.judge.judged["k3"] == 0


def test_a_duplicate_that_arrives_before_its_original_is_still_the_duplicate(tmp_path: Path) -> None:
    first = threading.Event()

    def answer(request: Request) -> str:
        if request.number == 1:
            first.wait(5)
        if request.number == 2:
            first.set()
        return reply("same" if request.number <= 2 else f"k{request.number}", time=50)

    done = evolve(tmp_path, Answers(answer), trials=3)
    assert done.rows("number, kind, duplicate_of", "number in (1, 2)") == [
        (1, "trial", None),
        (2, "duplicate", 1),
    ]


def test_a_proposer_that_only_repeats_itself_ends_the_run_with_a_reason(tmp_path: Path) -> None:
    done = evolve(tmp_path, Answers(lambda r: reply("always", time=50)), options=LoopOptions(most_repeats=10))
    assert done.result.ending is Ending.REPEATS
    assert "repeats itself: 10 duplicates in a row" in done.result.reason
    assert done.result.progress.trials == 1
    assert done.archive.run("run").status == "stopped"


def test_a_proposer_with_nothing_left_ends_the_run_with_what_it_has(tmp_path: Path) -> None:
    def answer(request: Request) -> str | Exception:
        return Exhausted("all was tried") if request.number > 2 else faster(request)

    done = evolve(tmp_path, Answers(answer), trials=9)
    assert done.result.ending is Ending.REPEATS
    assert done.result.reason == "all was tried"
    assert (done.result.progress.trials, done.result.progress.duplicates) == (2, 0)


def test_calls_that_fail_are_not_charged(tmp_path: Path) -> None:
    def answer(request: Request) -> str | Exception:
        return ProposerError("no luck") if request.number % 3 == 0 else faster(request)

    done = evolve(tmp_path, Answers(answer), trials=10)
    assert done.result.progress.trials == 10
    assert done.rows("number", "kind = 'failed'") == [(3,), (6,), (9,), (12,)]


def test_a_dead_proposer_ends_the_run_and_a_resumed_run_asks_again(tmp_path: Path) -> None:
    dead = evolve(tmp_path, Answers(lambda r: ProposerError("down")), trials=6)
    assert dead.result.ending is Ending.PROPOSER
    assert dead.result.progress.trials == 0
    alive = evolve(tmp_path, Answers(faster), trials=6)
    assert alive.result.ending is Ending.FINISHED
    assert alive.result.progress.trials == 6


def test_a_fatal_failure_stops_at_once_and_loses_nothing(tmp_path: Path) -> None:
    def answer(request: Request) -> str | Exception:
        if request.number == 4:
            return ProposerError("HTTP 401: the key is wrong", fatal=True)
        return faster(request)

    broken = evolve(tmp_path, Answers(answer), trials=10, lookahead=2)
    assert broken.result.ending is Ending.PROPOSER
    assert "the key is wrong" in broken.result.reason
    resumed = evolve(tmp_path, Answers(faster), trials=10, lookahead=2)
    whole = evolve(tmp_path / "whole", Answers(faster), trials=10, lookahead=2)
    assert resumed.canonical() == whole.canonical()


def test_unparsable_replies_are_charged_and_their_text_is_kept(tmp_path: Path) -> None:
    done = evolve(tmp_path, Answers(lambda r: f"Sorry, no {r.number}."), trials=3)
    assert [row[0] for row in done.rows("outcome", "trial > 0")] == ["unparsable"] * 3
    texts = [row[0] for row in done.archive.connection.execute("SELECT text FROM replies ORDER BY number")]
    assert texts == ["Sorry, no 1.", "Sorry, no 2.", "Sorry, no 3."]


def test_early_stop_when_nothing_gets_better(tmp_path: Path) -> None:
    done = evolve(
        tmp_path,
        Answers(lambda r: reply(f"k{r.number}", time=50 if r.number == 5 else 90)),
        options=LoopOptions(stall_trials=8),
        lookahead=4,
    )
    assert done.result.ending is Ending.STALLED
    assert done.result.progress.trials == 5 + 8 + 3, "what is under way is finished"


def test_early_stop_at_a_speedup(tmp_path: Path) -> None:
    done = evolve(tmp_path, Answers(faster), options=LoopOptions(target_speedup=1.25), lookahead=1)
    assert done.result.ending is Ending.TARGET
    assert done.result.progress.trials == 20


def test_overlapping_intervals_crown_no_new_best(tmp_path: Path) -> None:
    def answer(request: Request) -> str:
        return reply(f"k{request.number}", time=99.5 if request.number < 5 else 60, width=5)

    done = evolve(
        tmp_path,
        Answers(answer),
        trials=6,
        about=task(baseline=kernel("base", time=100, width=5)),
        lookahead=1,
    )
    assert [row[0] for row in done.rows("number", "improved")] == [0, 5]


@pytest.mark.parametrize(("limit", "word"), [({"tokens": 100}, "tokens"), ({"usd": 0.0001}, "spent")])
def test_limits_on_tokens_and_cost_are_never_exceeded(
    limit: dict[str, float], word: str, tmp_path: Path
) -> None:
    budget = Budget(trials=45, **limit)  # type: ignore[arg-type]
    done = evolve(tmp_path, Answers(faster), budget=budget)  # a call costs 10 of 100 and may cost 20
    assert done.result.ending is Ending.BUDGET
    assert word in done.result.reason
    assert done.result.progress.trials == 9
    assert budget.tokens.used == 90


def test_the_time_limit_ends_a_run_and_keeps_what_was_paid_for(tmp_path: Path) -> None:
    def answer(request: Request) -> str:
        time.sleep(0.05)
        return faster(request)

    done = evolve(tmp_path, Answers(answer), trials=1000, budget=Budget(trials=1000, seconds=0.5))
    assert done.result.ending is Ending.BUDGET
    assert "time is up" in done.result.reason
    kept = {row[0] for row in done.archive.connection.execute("SELECT number FROM replies")}
    assert kept
    answers = Answers(answer)
    evolve(tmp_path, answers, trials=done.result.progress.trials + 20, run="run")
    assert not kept & {request.number for request in answers.requests}, "no answer is asked for again"


def test_an_interrupt_finishes_cleanly_and_resume_ends_like_an_uninterrupted_run(tmp_path: Path) -> None:
    started = threading.Event()
    calls: list[int] = []

    def slow(request: Request) -> str:
        calls.append(request.number)
        if request.number == 6:
            started.set()
        time.sleep(0.05)
        return faster(request)

    def during(loop: Loop) -> None:
        threading.Thread(target=lambda: (started.wait(10), loop.interrupt()), daemon=True).start()

    how = {"trials": 15, "options": LoopOptions(workers=2)}
    stopped = evolve(tmp_path, Answers(slow), during=during, **how)  # type: ignore[arg-type]
    assert stopped.result.ending is Ending.INTERRUPTED
    replied = {row[0] for row in stopped.archive.connection.execute("SELECT number FROM replies")}
    assert replied == set(calls), "what was paid for is kept"
    judged = {row[0] for row in stopped.archive.connection.execute("SELECT number FROM verdicts")}
    assert judged == replied | {0}, "… and judged"
    before = list(calls)
    resumed = evolve(tmp_path, Answers(slow), **how)  # type: ignore[arg-type]
    assert not set(before) & set(calls[len(before) :]), "nothing is paid for twice"
    whole = evolve(tmp_path / "whole", Answers(faster), **how)  # type: ignore[arg-type]
    assert resumed.canonical() == whole.canonical()


def test_an_interrupt_before_the_first_call_is_an_interrupt(tmp_path: Path) -> None:
    answers = Answers(faster)
    done = evolve(tmp_path, answers, trials=5, during=lambda loop: loop.interrupt())
    assert done.result.ending is Ending.INTERRUPTED
    assert answers.requests == []
    assert evolve(tmp_path, answers, trials=5).result.ending is Ending.FINISHED


def test_a_finished_run_can_be_extended(tmp_path: Path) -> None:
    first = evolve(tmp_path, Answers(faster), trials=10)
    first.archive.set_trials("run", 25)
    answers = Answers(faster)
    more = evolve(tmp_path, answers, trials=25)
    assert more.result.progress.trials == 25
    assert [row[0] for row in more.rows("trial", "trial > 0")] == list(range(1, 26))
    assert min(request.number for request in answers.requests) == 11


def test_resuming_a_finished_run_does_nothing(tmp_path: Path) -> None:
    first = evolve(tmp_path, Answers(faster), trials=5).canonical()
    answers = Answers(faster)
    judge = ScriptedJudge()
    again = evolve(tmp_path, answers, trials=5, judge=judge)
    assert answers.requests == []
    assert not judge.judged
    assert again.canonical() == first


def test_insights_are_recorded_with_what_happened_when_they_were_used(tmp_path: Path) -> None:
    def answer(request: Request) -> str:
        outcome = "wrong" if request.number % 4 == 0 else "valid"
        shown = re.findall(r"^- \[(\d+)\]", request.user, re.MULTILINE)
        said = f"used: {shown[0]}\n" if shown else ""
        return said + reply(
            f"k{request.number}", f"idea {request.number}", outcome=outcome, time=100 - request.number
        )

    done = evolve(tmp_path, Answers(answer), method="insight", trials=20)
    db = done.archive.connection
    insights = {
        row[0]: row[1:] for row in db.execute("SELECT number, text, outcome, gain, failed FROM insights")
    }
    assert insights[4] == ("idea 4", "wrong", None, 1)
    text, outcome, gain, failed = insights[1]
    assert (text, outcome, failed) == ("idea 1", "valid", 0)
    assert gain == pytest.approx(100 / 99)
    uses = db.execute("SELECT number, insight, outcome, gain FROM insight_uses WHERE number = 12").fetchall()
    assert uses
    for number, insight, _, gain in uses:
        assert insight < number
        assert gain is None
    assert [row[2] for row in uses] == ["wrong", *[None] * (len(uses) - 1)], (
        "only the one that the reply names"
    )


def test_the_judge_works_while_proposals_are_made(tmp_path: Path) -> None:
    def slow(request: Request) -> str:
        time.sleep(0.1)
        return reply(f"k{request.number}", time=90, delay=0.1)

    started = time.monotonic()
    evolve(tmp_path, Answers(slow), trials=12, options=LoopOptions(workers=4))
    assert time.monotonic() - started < 12 * 0.2 * 0.7


def test_a_text_that_repeats_a_duplicate_is_a_duplicate(tmp_path: Path) -> None:
    """The second has the first one's machine code, the third the second one's text: neither is judged or charged."""
    texts = {1: reply("one", time=50, build="b"), 2: reply("two", time=50, build="b")}
    texts[3] = texts[2]

    def answer(request: Request) -> str:
        return texts.get(request.number) or faster(request)

    for lookahead in (1, 3):
        done = evolve(tmp_path, Answers(answer), trials=4, lookahead=lookahead, run=f"run{lookahead}")
        assert done.rows("number, duplicate_of", "kind = 'duplicate'") == [(2, 1), (3, 1)]
        assert done.result.progress.trials == 4


class Failing(ScriptedJudge):
    """A judge whose machine fails at one kernel until it is mended."""

    broken = True

    def _judge(self, source: str) -> Verdict:
        if self.broken and '"id=k3 ' in source:
            raise EnvironmentFailure("the disk is full")
        return super()._judge(source)


def test_a_failing_machine_ends_the_run_and_charges_nothing(tmp_path: Path) -> None:
    judge, answers = Failing(), Answers(faster)
    done = evolve(tmp_path, answers, trials=8, judge=judge)
    assert done.result.ending is Ending.ENVIRONMENT
    assert "the disk is full" in done.result.reason
    assert [number for (number,) in done.rows("number", "trial IS NOT NULL")] == [1, 2]
    paid = len(answers.requests)
    judge.broken = False
    done = evolve(tmp_path, answers, trials=8, judge=judge)
    assert done.result.ending is Ending.FINISHED
    assert sorted({request.number for request in answers.requests}) == list(range(1, 9))
    assert len(answers.requests) == 8  # no reply was asked for twice
    assert paid <= 8
    straight = evolve(tmp_path, Answers(faster), trials=8, run="straight")
    assert done.rows("number, kind, trial, time_us") == straight.rows("number, kind, trial, time_us")


def test_the_time_limit_waits_for_no_call_and_no_verdict(tmp_path: Path) -> None:
    """`--max-seconds 3` ended when the slowest call did."""
    waiting = threading.Event()

    def answer(request: Request) -> str | Exception:
        if request.number < 3:
            return reply(f"k{request.number}", time=50, delay=0 if request.number == 1 else 3600)
        request.give_up.wait(3600)
        waiting.set()
        return Stopped()

    class Patient(ScriptedJudge):
        def _judge(self, source: str) -> Verdict:
            if "delay=3600" in source:
                waiting.wait(3600)
            return super()._judge(source.replace("delay=3600", "delay=0"))

    done = evolve(
        tmp_path,
        Answers(answer),
        trials=9,
        judge=Patient(),
        budget=Budget(trials=9, seconds=0.5),
        lookahead=3,
    )
    assert done.result.ending is Ending.BUDGET
    assert [number for (number,) in done.rows("number", "trial > 0")] == [1]
    resumed = evolve(tmp_path, Answers(faster), trials=9, judge=Patient(), lookahead=3)
    assert resumed.result.ending is Ending.FINISHED
    assert resumed.rows("name", "number = 2") == [("k2",)], "the answer that was not judged is kept"


def test_a_baseline_that_takes_longer_than_the_time_limit_is_not_waited_for(tmp_path: Path) -> None:
    done_waiting = threading.Event()

    class Slow(ScriptedJudge):
        def _judge(self, source: str) -> Verdict:
            done_waiting.wait(3600)
            return super()._judge(source)

    answers = Answers(faster)
    done = evolve(tmp_path, answers, trials=9, judge=Slow(), budget=Budget(trials=9, seconds=0.2))
    done_waiting.set()
    assert done.result.ending is Ending.BUDGET
    assert answers.requests == []
    assert evolve(tmp_path, answers, trials=9).result.ending is Ending.FINISHED


def test_a_failure_of_ours_loses_no_answer_that_was_paid_for(tmp_path: Path) -> None:
    arrived = threading.Barrier(3, timeout=30)

    class Broken(ScriptedJudge):
        def build(self, source: str) -> Future[Built]:
            raise ZeroDivisionError("a bug of ours")

    def answer(request: Request) -> str:
        if request.number <= 3:
            arrived.wait()  # all three are under way when the first one is looked at
        return faster(request)

    answers = Answers(answer)
    with pytest.raises(ZeroDivisionError):
        evolve(tmp_path, answers, trials=3, judge=Broken(), lookahead=3)
    assert sorted(request.number for request in answers.requests) == [1, 2, 3]
    done = evolve(tmp_path, answers, trials=3, lookahead=3)
    assert done.result.progress.trials == 3
    assert len(answers.requests) == 3, "no answer is asked for twice"
