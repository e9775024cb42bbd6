"""Every number of a report, recomputed by hand from a small archive.

Two methods on three problems, `free` with two repeats of the first:

    problem   baseline  light   free: best of runs         full
    f/a       100 us    10 us   50, 25 -> 2x, 4x: 3x       20 -> 5x
    f/b       100 us    10 us   none valid -> 1x           50 -> 2x
    g/c       100 us    100 us  80 -> 1.25x                80 -> 1.25x   (the baseline is at the limit)
"""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from statistics import mean, median

import pytest
from tests.report.made import Made, add_run

from evoengineer.archive import Archive
from evoengineer.judge.verdict import Outcome
from evoengineer.report.facts import family_of, read_facts
from evoengineer.report.numbers import Numbers, PyTorchTime, count
from evoengineer.report.stats import bootstrap, geometric_mean, holm, least_p, paired_test

WRONG, BROKEN = Made(outcome=Outcome.WRONG), Made(outcome=Outcome.COMPILE_ERROR)
PYTORCH = {
    ("s/f/a", "sim:rtx4090"): PyTorchTime(75.0, 50.0, estimated=True),
    ("s/f/b", "sim:rtx4090"): PyTorchTime(50.0, 50.0, estimated=True),
}


@pytest.fixture
def numbers(tmp_path: Path) -> Numbers:
    archive = tmp_path / "archive.db"
    add_run(archive, "free/a/0", [Made(50), WRONG, Made(60), BROKEN], problem="s/f/a")
    add_run(archive, "free/a/1", [WRONG, Made(40), Made(25), BROKEN], problem="s/f/a", seed=1)
    add_run(archive, "free/b/0", [WRONG, WRONG, BROKEN, BROKEN], problem="s/f/b")
    add_run(archive, "free/c/0", [Made(80), Made(90), Made(95), WRONG], problem="s/g/c", light_us=100.0)
    add_run(archive, "full/a/0", [Made(20)], problem="s/f/a", method="full")
    add_run(archive, "full/b/0", [Made(50)], problem="s/f/b", method="full")
    add_run(archive, "full/c/0", [Made(80)], problem="s/g/c", method="full", light_us=100.0)
    with Archive(archive, read_only=True) as opened:
        return count(read_facts(opened), PYTORCH)


def test_a_run_in_figures(numbers: Numbers) -> None:
    run = numbers.runs[1]
    assert (run.id, run.problem, run.family, run.method, run.model) == (
        "free/a/1",
        "s/f/a",
        "f",
        "free",
        "toy-model",
    )
    assert (run.trials, run.valid, run.compiled, run.tokens, run.nano_usd) == (4, 2, 3, 400, 4000)
    assert (run.best_number, run.best_speedup, run.best_us, run.best_trial_us) == (3, 4.0, 25.0, 25.0)
    assert run.curve == (1.0, 1.0, 2.5, 4.0, 4.0)
    assert run.judge_seconds == 5 * 2.0  # four trials and the baseline
    assert run.light_reached == 10 / 25
    assert run.headroom_closed == pytest.approx(math.log(4) / math.log(10))
    assert numbers.runs[3].headroom_closed is None
    assert numbers.runs[2].best_trial_us is None


def test_a_cell_is_the_median_of_its_repeats(numbers: Numbers) -> None:
    a, b, c, *_ = numbers.cells
    assert (a.problem, a.method, a.runs, a.best_run) == (
        "s/f/a",
        "free",
        ("free/a/0", "free/a/1"),
        "free/a/1",
    )
    assert [cell.speedup for cell in numbers.cells] == [3.0, 1.0, 1.25, 5.0, 2.0, 1.25]
    assert a.light_reached == mean([10 / 50, 10 / 25])
    assert a.over_pytorch == mean([75 / 50, 75 / 25])
    assert a.over_fused == mean([50 / 50, 50 / 25])
    assert (b.over_pytorch, b.trial_over_pytorch) == (
        50 / 100,
        0.0,
    )  # the baseline is half as fast; no trial is valid
    assert c.over_pytorch is None  # PyTorch's time is not known
    assert (a.trials, a.valid, a.compiled, a.tokens, a.judge_seconds) == (8, 4, 6, 800, 20.0)


def test_a_method_over_all_problems(numbers: Numbers) -> None:
    free, full = numbers.groups
    assert (free.method, free.runs, free.problems, free.trials) == ("free", 4, 3, 16)
    assert free.mean_speedup is not None
    assert free.median_speedup is not None
    assert free.geometric_mean_speedup is not None
    assert free.mean_speedup.value == (3.0 + 1.0 + 1.25) / 3
    assert free.median_speedup.value == 1.25
    assert free.geometric_mean_speedup.value == pytest.approx((3.0 * 1.0 * 1.25) ** (1 / 3))
    assert free.over == {1.1: 2 / 3, 2.0: 1 / 3, 5.0: 0.0}
    assert full.over == {1.1: 1.0, 2.0: 1 / 3, 5.0: 0.0}  # over, not from
    assert free.functional == 7 / 16
    assert free.compile == 12 / 16
    assert free.light_reached == pytest.approx(mean([0.3, 0.1, 100 / 80]))
    a = mean([math.log(2) / math.log(10), math.log(4) / math.log(10)])
    assert free.headroom_closed == pytest.approx(mean([a, 0.0]))
    assert free.headroom_problems == 2
    assert free.mean_over_pytorch == mean([2.25, 0.5])
    assert free.most_over_pytorch == 2.25
    assert free.geometric_mean_over_pytorch is not None
    assert free.geometric_mean_over_pytorch.value == pytest.approx((2.25 * 0.5) ** 0.5)
    assert free.fast_p == {0.0: 0.5, 1.0: 0.5, 1.5: 0.5, 2.0: 0.5}
    assert full.fast_p == {0.0: 1.0, 1.0: 0.5, 1.5: 0.5, 2.0: 0.5}  # 75/20 and exactly 1, which is not over 1
    assert (free.tokens, free.nano_usd, free.judge_seconds) == (1600, 16000, 40.0)


def test_families(numbers: Numbers) -> None:
    assert [(each.family, each.method, each.problems) for each in numbers.families] == [
        ("f", "free", 2), ("g", "free", 1), ("f", "full", 2), ("g", "full", 1),
    ]  # fmt: skip
    assert numbers.families[0].mean_speedup is not None
    assert numbers.families[0].mean_speedup.value == 2.0


def test_wins_and_shared_ties(numbers: Numbers) -> None:
    free, full = numbers.wins
    assert (free.method, free.wins, free.of, free.wins_over_2, free.of_over_2) == ("free", 0.5, 3, 0.0, 1)
    assert (full.method, full.wins, full.wins_over_2) == ("full", 2.5, 1.0)


def test_two_methods_compared(numbers: Numbers) -> None:
    (comparison,) = numbers.comparisons
    test = comparison.test
    assert (comparison.first, comparison.second, comparison.repeats) == ("free", "full", 1)
    assert (test.problems, test.first_wins, test.second_wins) == (3, 0, 2)
    assert test.ratio.value == pytest.approx((3 / 5 * 1 / 2 * 1) ** (1 / 3))
    assert test.effect == -1.0
    assert test.p_value == 0.5  # two of four ways to sign two ranks
    assert comparison.p_holm == 0.5


def test_curves_are_medians_and_quartiles_over_problems(numbers: Numbers) -> None:
    free = numbers.curves[0]
    # After trial 3: a is the median of 2 and 4, b 1, c 1.25.
    assert free.middle == (1.0, median([1.5, 1.0, 1.25]), median([2.25, 1.0, 1.25]), 1.25, 1.25)
    assert free.low[3] == 1.125
    assert free.high[3] == (3.0 + 1.25) / 2


def test_families_by_name() -> None:
    assert family_of("kernels91/matmul/square") == "matmul"
    assert family_of("softmax") == "other"


# -- statistics --------------------------------------------------------------------------------------------------


def by_enumeration(differences: list[float]) -> float:
    """Wilcoxon's two-sided p by trying every sign; for differences whose sizes all differ."""
    ranks = [sorted(map(abs, differences)).index(abs(each)) + 1 for each in differences]
    middle = sum(ranks) / 2
    seen = abs(sum(r for r, d in zip(ranks, differences, strict=True) if d > 0) - middle)
    sums = [
        sum(r for r, up in zip(ranks, signs, strict=True) if up)
        for signs in product((0, 1), repeat=len(ranks))
    ]
    return mean(abs(each - middle) >= seen for each in sums)


@pytest.mark.parametrize("signs", [(1, 1, 1, 1, 1), (1, -1, 1, 1, -1, 1), (-1, -1, 1, -1, -1, -1, 1, -1)])
def test_wilcoxon_against_every_sign(signs: tuple[int, ...]) -> None:
    differences = [sign * 0.1 * (place + 1) for place, sign in enumerate(signs)]
    test = paired_test([math.exp(each) for each in differences], [1.0] * len(signs))
    assert test.p_value == pytest.approx(by_enumeration(differences))


def test_wilcoxon_by_the_book() -> None:
    """n = 10 and a smaller rank sum of 8: the tables' two-sided 5% point (exact p 0.0488)."""
    differences = [-0.8, *(0.1 * size for size in (1, 2, 3, 4, 5, 6, 7, 9, 10))]
    test = paired_test([math.exp(each) for each in differences], [1.0] * 10)
    assert test.p_value == pytest.approx(0.048828125)
    assert test.effect == pytest.approx((47 - 8) / 55)


def test_ties_share_their_rank_and_equals_are_left_out() -> None:
    test = paired_test([2.0, 2.0, 1.0, 3.0], [1.0, 1.0, 1.0, 9.0])
    # log 2 twice: ranks 1.5 and 1.5; log 3: rank 3, negative. Sums of positive ranks: 3 of 6, the very middle.
    assert (test.first_wins, test.second_wins, test.effect, test.p_value) == (2, 1, 0.0, 1.0)
    assert paired_test([1.0], [1.0]).p_value == 1.0


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_so_few_problems_cannot_be_significant() -> None:
    assert least_p(5) == 0.0625
    assert least_p(6) == 0.03125
    assert least_p(0) == 1.0


def test_bootstrap() -> None:
    values = [1.0, 2.0, 4.0, 8.0]
    for statistic, expected in (("mean", 3.75), ("median", 3.0), ("geometric mean", 2 * math.sqrt(2))):
        found = bootstrap(values, statistic)
        assert found.value == pytest.approx(expected)
        assert found.low is not None
        assert found.high is not None
        assert min(values) <= found.low < found.value < found.high <= max(values)
        assert found == bootstrap(values, statistic)
    alone = bootstrap([2.0], "mean")
    assert (alone.value, alone.low, alone.high) == (2.0, None, None)
    constant = bootstrap([3.0, 3.0, 3.0], "geometric mean")
    assert (constant.low, constant.high) == (pytest.approx(3.0), pytest.approx(3.0))
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
