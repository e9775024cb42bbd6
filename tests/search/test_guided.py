"""The parts of `guided`, each by itself, and a run that stops near the light."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from tests.search.runs import Answers, evolve
from tests.search.scripted import kernel, profile_of, reply, task, verdict_of

from evoengineer.errors import UsageError
from evoengineer.search.credit import Credit, reward
from evoengineer.search.endings import LoopOptions
from evoengineer.search.guidance import View
from evoengineer.search.operators import BOTTLENECK, COMBINE, CROSSOVER, FREE, MUTATE, PARAMETRISE, PLAN
from evoengineer.search.populations import Cells
from evoengineer.search.populations.cells import cell_of
from evoengineer.search.records import Kind, Member, Settled
from evoengineer.search.settings import resolve
from evoengineer.search.state import member_of
from evoengineer.sim.timing.profile import Finding, FindingKind, LaunchProfile


def launch(bound: str = "dram", **figures: object) -> LaunchProfile:
    return replace(profile_of(bound, 1000.0), **figures)  # type: ignore[arg-type]


def member(number: int, time_us: float, *launches: LaunchProfile, light_us: float | None = None) -> Member:
    source = "line one\nline two\n"
    return Member(number, source, f"k{number}", "", time_us, (time_us, time_us), 100 / time_us,
                  light_us=light_us, launches=launches)  # fmt: skip


# -- profile guidance ------------------------------------------------------------------------------------


def test_the_profile_quotes_lines_names_peaks_and_says_what_is_futile() -> None:
    finding = Finding(FindingKind.UNCOALESCED, "global accesses use 8 of 32 bytes per sector")
    hot = (("/x/kernel.cu", 2, 0.6), ("/cuda/helper.cuh", 9, 0.2))
    measured = launch(memory_percent=93.0, compute_percent=4.0, findings=(finding,), hot_lines=hot)
    measured = replace(measured, time_ns=48e3, dram_bytes=9e6, registers=40, shared_bytes_per_block=512)
    about = replace(
        task(),
        light_us=40.0,
        light_reason="bytes. Memory traffic is the limit",
        reach_us=44.0,
        least_bytes=3e6,
    )
    prompt, keys = BOTTLENECK.prompt(View(about, parents=(member(4, 50.0, measured, light_us=40.0),)))
    assert keys == ("I1", "profile")
    section = prompt.user.split("# Profile")[1].split("\n# ")[0]
    for part in ('Kernel 4, "k4":', "80% of the speed of light", "bound by DRAM bandwidth", "93% of DRAM bandwidth",
                 "4% of peak compute", "8 of 32 bytes", "line 2, 60% of a warp's time: `line two`",
                 "line 9, 20% of a warp's time: helper.cuh", "do not try: what saves no bytes", "only fewer bytes help",
                 "`k`: 1 blocks of 1 threads, 48.00 us (96% of the time)", "9.00 MB through DRAM", "3.00x the least",
                 "40 registers per thread, 512 B of shared memory per block", "2.00 us pass outside of kernels",
                 "what would help: fewer bytes", "40.00 us is the best possible time, since memory traffic is",
                 "about 44.0 us is within reach", "room for about 1.14x"):  # fmt: skip
        assert part in section, part


def test_a_kernel_that_moves_the_least_bytes_at_full_bandwidth_is_not_told_to_save_bytes() -> None:
    done = launch(memory_percent=90.0, dram_bytes=3e6, time_ns=45e3)
    about = replace(
        task(), light_us=40.0, light_reason="Memory traffic is the limit", reach_us=44.0, least_bytes=3e6
    )
    section = BOTTLENECK.prompt(View(about, parents=(member(4, 45.0, done),)))[0].user.split("# Profile")[1]
    assert "fewer bytes" not in section
    assert "hardly anything can help" in section
    assert "Little is left to gain" in section


def test_a_profile_is_told_once() -> None:
    known = replace(member(1, 50.0, launch()), profile="the short profile")
    for operator in (FREE, MUTATE):
        assert "the short profile" in operator.prompt(View(task(), parents=(known,)))[0].user
    for operator in (PLAN, BOTTLENECK, PARAMETRISE):
        assert "the short profile" not in operator.prompt(View(task(), parents=(known,)))[0].user
    without = replace(known, launches=())
    assert "the short profile" in BOTTLENECK.prompt(View(task(), parents=(without,)))[0].user


def test_the_baseline_is_shown_once() -> None:
    about = task()
    seed = Member(0, about.baseline, "baseline", "", 100.0, (100.0, 100.0), 1.0)
    for parents in ((seed,), (seed, member(1, 50.0)), (member(1, 50.0),)):
        assert CROSSOVER.prompt(View(about, parents=parents))[0].user.count(about.baseline.strip()) == 1


def test_the_profile_is_there_exactly_when_declared_and_known() -> None:
    known, unknown = member(1, 50.0, launch()), member(2, 60.0)
    for operator in (FREE, MUTATE):
        assert "# Profile" not in operator.prompt(View(task(), parents=(known,)))[0].user
    assert "# Profile" in BOTTLENECK.prompt(View(task(), parents=(known,)))[0].user
    assert "# Profile" not in BOTTLENECK.prompt(View(task(), parents=(unknown,)))[0].user
    both = COMBINE.prompt(View(task(), parents=(known, member(3, 70.0, launch("fma")))))[0].user
    assert "fewer bytes from DRAM, which are hidden" in both.split("# Profile")[1]


def test_near_the_light_the_roofline_says_so() -> None:
    about = replace(task(), light_us=40.0, light_reason="bytes")
    prompt, _ = BOTTLENECK.prompt(View(about, parents=(member(4, 41.0, launch()),)))
    assert "Little is left to gain" in prompt.user


# -- credit ----------------------------------------------------------------------------------------------


def test_what_paid_is_drawn_more_often_and_nothing_is_forgotten() -> None:
    credit = Credit()
    names = ("good", "bad", "new")
    for _ in range(10):
        credit.settled("good", 0.9)
        credit.settled("bad", 0.0)
    good, bad, new = credit.shares(names)
    assert good > new > bad > 0.04
    assert good + bad + new == pytest.approx(1.0)
    drawn = [credit.choose(names, Random(seed)) for seed in range(300)]
    assert drawn == [credit.choose(names, Random(seed)) for seed in range(300)], "choosing changes nothing"
    assert set(drawn) == {0, 1, 2}


def test_credit_follows_what_pays_now() -> None:
    credit = Credit()
    for _ in range(10):
        credit.settled("early", 1.0)
    for _ in range(15):
        credit.settled("early", 0.1)
        credit.settled("late", 0.6)
    assert credit.standing("late") > credit.standing("early")


def test_rewards() -> None:
    assert reward(valid=False, best_us=10.0, time_us=None) == 0.0
    assert reward(valid=True, best_us=10.0, time_us=12.0) == pytest.approx(0.1)
    assert (
        reward(valid=True, best_us=10.0, time_us=5.0) == reward(valid=True, best_us=10.0, time_us=1.0) == 1.0
    )
    assert 0.1 < reward(valid=True, best_us=10.0, time_us=9.0) < 1.0


# -- cells -----------------------------------------------------------------------------------------------


def test_a_cell_is_computed_from_the_profile() -> None:
    assert cell_of(member(1, 50.0)) == ("unknown", "unknown", "unknown")
    wide = launch("fma", shared_bytes_per_block=4096, grid=(4, 1, 1), block=(8, 1, 1), l1_bytes=32 * 100.0)
    assert cell_of(member(1, 50.0, wide)) == ("compute_bound", "shared", "much")
    lean = launch("dram", registers=90, grid=(4, 1, 1), block=(8, 1, 1), l1_bytes=32 * 8.0)
    assert cell_of(member(1, 50.0, launch(), replace(lean, time_ns=9e9))) == (
        "dram_bound",
        "registers",
        "little",
    )


def test_each_design_keeps_its_fastest_and_pairs_differ_in_their_bottleneck() -> None:
    cells = Cells()
    cells.seed(member(0, 100.0, launch("latency")))
    cells.add(member(1, 50.0, launch("dram")), 0)
    cells.add(member(2, 60.0, launch("dram")), 0)  # slower in its cell
    cells.add(member(3, 70.0, launch("fma")), 0)
    cells.add(member(4, 65.0, launch("dram", shared_bytes_per_block=64)), 0)
    assert {each.number for each in cells.elites.values()} == {0, 1, 3, 4}
    for seed in range(50):
        first, second = cells.choose(2, Random(seed)).parents
        assert cell_of(first)[0] != cell_of(second)[0]
        assert 0 not in (first.number, second.number), "the baseline while faster kernels exist"
    singles = [cells.choose(1, Random(seed)).parents[0].number for seed in range(100)]
    assert singles.count(1) > 50
    assert set(singles) == {1, 3, 4}


# -- the method ------------------------------------------------------------------------------------------


def test_an_idea_that_failed_is_repaired_at_once_and_given_up_after_two(tmp_path: Path) -> None:
    done = evolve(
        tmp_path,
        Answers(lambda r: reply(f"b{r.number}", outcome="wrong")),
        method="guided",
        trials=9,
        lookahead=1,
    )
    operators = [row[0] for row in done.rows("operator", "number > 0")]
    assert [each == "repair" for each in operators] == [False, True, True] * 3


def test_operators_that_pay_are_asked_more(tmp_path: Path) -> None:
    """Only `bottleneck` makes kernels faster: after a while it is drawn most."""

    def answer(request: object) -> str:
        number = request.number  # type: ignore[attr-defined]
        pays = "Remove the bottleneck" in request.user  # type: ignore[attr-defined]
        best = min(verdict_of(text).timing.time_us for text in request.parents)  # type: ignore[attr-defined, union-attr]
        return reply(f"k{number}", time=best * 0.9 if pays else 200 + number, bound="dram")

    done = evolve(tmp_path, Answers(answer), method="guided", trials=60, lookahead=1)  # type: ignore[arg-type]
    later = [row[0] for row in done.rows("operator", "number > 20")]
    counts = {name: later.count(name) for name in set(later)}
    assert counts["bottleneck"] == max(counts.values())
    assert counts["bottleneck"] > len(later) / 3


def test_enough_light_ends_a_run_and_says_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evoengineer.search import state

    def with_light(settled: Settled) -> Member | None:
        made = member_of(settled)
        return None if made is None else replace(made, light_us=40.0)

    monkeypatch.setattr(state, "member_of", with_light)
    answers = Answers(lambda r: reply(f"k{r.number}", time=100 - 10 * r.number))
    options = LoopOptions(enough_light=0.95)
    done = evolve(tmp_path, answers, method="free", trials=45, lookahead=1, options=options)
    assert done.result.ending == "enough"
    assert done.result.progress.trials == 6
    assert "reaches 100% of the speed of light: 39 trials are not needed" in done.result.reason
    assert done.archive.run("run").status == "finished"


def test_enough_is_also_what_is_within_reach(tmp_path: Path) -> None:
    """No kernel gets to 95% of the light where a launch and DRAM itself cost more than the rest."""
    answers = Answers(lambda r: reply(f"k{r.number}", time=100 - 10 * r.number))
    options = LoopOptions(enough_light=0.95)
    about = task(reach_us=68.0, light_us=55.0)
    done = evolve(tmp_path, answers, method="free", trials=9, lookahead=1, options=options, about=about)
    assert done.result.ending == "enough"
    assert done.result.progress.trials == 3, "70 us"
    assert "97% of what is within reach: 6 trials are not needed" in done.result.reason


@pytest.mark.parametrize("value", [0.0, -0.5, 1.5])
def test_enough_is_a_share(value: float) -> None:
    with pytest.raises(UsageError, match="enough is a share of the speed of light"):
        resolve({"problem": "p", "enough": value})


def test_member_has_light_and_launches() -> None:
    made = member_of(
        Settled(1, Kind.TRIAL, 1, kernel("k", bound="dram"), "k", "", verdict_of(kernel("k", bound="dram")))
    )
    assert made is not None
    assert made.longest is not None
    assert made.light_share is None
