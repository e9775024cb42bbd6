"""`--tune`: evaluations of knobs apart from the trials, repeatable, and resumed where they stopped."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

from tests.search.runs import Answers, Outcomes, evolve
from tests.search.scripted import ScriptedJudge, kernel, verdict_of

from evoengineer.archive import reading
from evoengineer.errors import EnvironmentFailure
from evoengineer.judge.protocol import Built
from evoengineer.judge.verdict import Verdict
from evoengineer.propose.fake_script import reply_text
from evoengineer.propose.protocol import Request
from evoengineer.propose.syntax.knobs import knobs
from evoengineer.search.endings import Ending, LoopOptions
from evoengineer.search.loop import Loop
from evoengineer.search.progress import Progress, Silent
from evoengineer.search.records import Member, Tuned
from evoengineer.search.tuning import promising

KNOBS = "constexpr int RUN_THREADS = 256;\nconstexpr int RUN_EACH = 8;\n"


def timed(source: str) -> str:
    """A kernel whose time is the least for 64 threads; those of 16 do not work."""
    threads = {knob.name: knob.value for knob in knobs(source)}.get("RUN_THREADS", 0)
    outcome = " outcome=wrong" if threads == 16 else ""
    return source.replace("time=knobs", f"time={40 + abs(threads - 64) / 8}{outcome}")


class KnobJudge(ScriptedJudge):
    def _build(self, source: str) -> Built:
        return super()._build(timed(source))

    def _judge(self, source: str) -> Verdict:
        self.judged[source] += 1
        return verdict_of(timed(source))


def run(path: Path, tune: int, **more: object) -> Outcomes:
    proposer = Answers(
        lambda request: reply_text(KNOBS + kernel(f"k{request.number}", time="knobs"), "k", "why")
    )
    judge = more.pop("judge", None) or KnobJudge()
    return evolve(
        path, proposer, trials=3, judge=judge, options=LoopOptions(tune=tune), method="free", **more
    )


def test_settings_are_evaluated_apart_from_the_trials(tmp_path: Path) -> None:
    outcomes = run(tmp_path, 8)
    summary = reading.summary(outcomes.archive, "run")
    assert (summary.trials, summary.proposals, summary.tuned) == (3, 3, 8)
    assert summary.valid == 3, "validity counts trials only"
    assert (summary.best_number, summary.best_us) == (1, 40.0)
    best = reading.best_kernel(outcomes.archive, "run")
    assert best is not None
    assert "RUN_THREADS = 64;" in best[1]
    verdict = reading.best_verdict(outcomes.archive, "run")
    assert verdict is not None
    assert verdict.timing is not None
    assert verdict.timing.time_us == 40.0


def test_without_tuning_nothing_is_evaluated(tmp_path: Path) -> None:
    summary = reading.summary(run(tmp_path, 0).archive, "run")
    assert (summary.tuned, summary.best_setting) == (0, None)


def test_a_tuning_that_was_interrupted_ends_like_one_that_was_not(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    whole = run(tmp_path / "whole", 8)

    class Interrupting(Silent):
        def __init__(self, loop: Loop) -> None:
            self.loop = loop

        def tuned(self, tuned: Tuned, progress: Progress) -> None:
            if tuned.place == 3:
                self.loop.interrupt()

    def watch(loop: Loop) -> None:
        loop.observer = Interrupting(loop)

    first = run(tmp_path / "parts", 8, during=watch)
    assert first.result.ending is Ending.INTERRUPTED
    assert 3 <= reading.summary(first.archive, "run").tuned < 8
    second = run(tmp_path / "parts", 8)
    assert second.canonical() == whole.canonical()
    assert all(count == 1 for count in second.judge.judged.values())


def test_a_tuning_that_the_machine_stopped_is_taken_up_again(tmp_path: Path) -> None:
    """A compiler that was killed for lack of memory while settings were compiled once ended the run with an error."""
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    whole = run(tmp_path / "whole", 8)

    class Failing(KnobJudge):
        settings = 0

        def _build(self, source: str) -> Built:
            self.settings += "RUN_THREADS = 256" not in source
            if self.settings > 3:
                raise EnvironmentFailure("the system ran out of memory")
            return super()._build(source)

    first = run(tmp_path / "parts", 8, judge=Failing())
    assert first.result.ending is Ending.ENVIRONMENT
    assert "out of memory" in first.result.reason
    assert 0 < reading.summary(first.archive, "run").tuned < 8
    assert run(tmp_path / "parts", 8).canonical() == whole.canonical()


def test_a_kernel_that_was_parametrised_is_tuned_when_the_best_has_no_knobs(tmp_path: Path) -> None:
    """`guided` asks for constants; the tuner then turns them, although another kernel was a little faster."""

    def answer(request: Request) -> str:
        asked = "Make its sizes" in request.user
        text = (
            KNOBS + kernel(f"k{request.number}", time="knobs")
            if asked
            else kernel(f"k{request.number}", time=60)
        )
        return reply_text(text, "k", "why")

    done = evolve(
        tmp_path, Answers(answer), trials=6, judge=KnobJudge(), options=LoopOptions(tune=8), method="guided"
    )
    summary = reading.summary(done.archive, "run")
    assert summary.tuned == 8
    assert (summary.best_us, done.result.progress.best and done.result.progress.best.time_us) == (40.0, 40.0)
    assert done.rows("operator", f"number = {summary.best_number}") == [("parametrise",)]


def test_kernels_that_differ_in_more_than_settings_are_all_turned(tmp_path: Path) -> None:
    """The best as written need not be the best as turned: here the second starts far from its own optimum."""

    def answer(request: Request) -> str:
        first = "constexpr int RUN_THREADS = 32;\n" if request.number == 1 else KNOBS.replace("256", "128")
        return reply_text(first + kernel(f"k{request.number % 2}", time="knobs"), "k", "why")

    outcomes = evolve(
        tmp_path, Answers(answer), trials=2, judge=KnobJudge(), options=LoopOptions(tune=14), method="free"
    )
    rows = outcomes.archive.connection.execute("SELECT number, count(*) FROM tunings GROUP BY number")
    assert dict(map(tuple, rows)).keys() == {1, 2}
    assert all(count == 1 for count in outcomes.judge.judged.values()), "nothing is judged twice"


def test_few_evaluations_go_to_the_best_alone() -> None:
    members = [
        Member(number, KNOBS + kernel(f"k{number}"), "", "", time_us, (time_us, time_us), None)
        for number, time_us in ((1, 12.0), (2, 10.0), (3, 11.0), (4, 99.0))
    ]
    again = replace(members[1], number=5, source=members[1].source.replace("= 8", "= 4"), time_us=10.5)
    assert [each.number for each in promising([*members, again], 5)] == [2]
    assert [each.number for each in promising([*members, again], 20)] == [2, 3, 1]


def test_a_kernel_in_other_words_is_not_turned_twice() -> None:
    """The same knobs and the same time, but for what a change elsewhere in the text costs or brings."""
    first, other, slower = (
        Member(number, KNOBS + kernel(f"k{number}"), "", "", time_us, (time_us, time_us), None)
        for number, time_us in ((1, 10.0), (2, 10.05), (3, 11.0))
    )
    renamed = replace(other, number=4, source=other.source.replace("RUN_", "WALK_"))
    assert [each.number for each in promising([first, other, slower, renamed], 20)] == [1, 4, 3]


def test_a_knob_that_decides_nothing_is_no_evaluation(tmp_path: Path) -> None:
    """`RUN_EACH` is not read, so settings of it compile alike: they are neither judged nor counted."""

    class Alike(KnobJudge):
        def _build(self, source: str) -> Built:
            built = super()._build(source)
            threads = next(knob.value for knob in knobs(source) if knob.name == "RUN_THREADS")
            return replace(built, build=f"{threads} threads")

    proposer = Answers(lambda request: reply_text(KNOBS + kernel("k", time="knobs"), "k", "why"))
    done = evolve(tmp_path, proposer, trials=1, judge=Alike(), options=LoopOptions(tune=6), method="free")
    rows = done.archive.connection.execute(
        "SELECT source FROM tunings JOIN kernels ON kernels.id = tunings.kernel"
    )
    turned = [{knob.name: knob.value for knob in knobs(source)}["RUN_THREADS"] for (source,) in rows]
    assert len(turned) == len(set(turned)) >= 4
    assert 256 not in turned


class Glancing(KnobJudge):
    """Foresees times, all by half too long."""

    def __init__(self) -> None:
        super().__init__()
        self.glances: list[str] = []

    def foresee(self, source: str) -> Future[float | None]:
        self.glances.append(source)
        timing = verdict_of(timed(source)).timing
        return self.pool.submit(lambda: timing and 1.5 * timing.time_us)


def glanced(path: Path, **more: object) -> Outcomes:
    proposer = Answers(lambda request: reply_text(KNOBS + kernel("k", time="knobs"), "k", "why"))
    return evolve(
        path, proposer, trials=1, judge=Glancing(), options=LoopOptions(tune=10), method="free", **more
    )


def test_a_setting_that_cannot_win_is_given_up_unjudged(tmp_path: Path) -> None:
    """It counts all the same, is compared with the best setting by the same measure, and never is the best."""
    done = glanced(tmp_path)
    summary = reading.summary(done.archive, "run")
    assert (summary.tuned, summary.best_us) == (10, 40.0), "what is judged depends on no foreseen time itself"
    rows = done.archive.connection.execute(
        "SELECT outcome, time_us, foreseen_us, verdict, source FROM tunings JOIN kernels ON kernels.id = kernel"
    ).fetchall()
    given_up = [row for row in rows if row["outcome"] == "given_up"]
    assert summary.given_up == len(given_up) > 0
    for row in given_up:
        assert (row["time_us"], row["verdict"]) == (None, "null")
        assert row["foreseen_us"] > 1.5 * 40.0 * 1.02
        assert done.judge.judged[row["source"]] == 0
    invalid = [row for row in rows if row["outcome"] == "wrong"]
    assert all(done.judge.judged[row["source"]] == 1 for row in invalid), "what cannot be foreseen is judged"


def test_a_tuning_with_settings_given_up_is_resumed_alike(tmp_path: Path) -> None:
    class Interrupting(Silent):
        def __init__(self, loop: Loop) -> None:
            self.loop = loop

        def tuned(self, tuned: Tuned, progress: Progress) -> None:
            if tuned.place == 4:
                self.loop.interrupt()

    def watch(loop: Loop) -> None:
        loop.observer = Interrupting(loop)

    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
    whole = glanced(tmp_path / "whole")
    assert glanced(tmp_path / "parts", during=watch).result.ending is Ending.INTERRUPTED
    assert glanced(tmp_path / "parts").canonical() == whole.canonical()
