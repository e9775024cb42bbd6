"""Which inputs a candidate is judged on."""

from pathlib import Path

import pytest

from evoengineer.judge import plan
from evoengineer.judge.plan import plan_draws, secret_seed, timed_draws
from evoengineer.problem.catalog import Description
from evoengineer.problem.model import ALL_DISTRIBUTIONS, Case, Distribution, Problem, Tolerance


def description(distributions: tuple[Distribution, ...] = ALL_DISTRIBUTIONS) -> Description:
    cases = (Case.check(n=1), Case.check(n=7), Case.check(n=33), Case.bench(n=1000))
    problem = Problem("p", Path("p/problem.py"), "", "", cases, Tolerance(), distributions, None, "folder")
    return Description(problem, ({"kind": "tensor", "dtype": "float32", "bytes": 4000},), ())


def test_every_case_sees_every_distribution() -> None:
    draws = plan_draws(description(), "kernel", 1)
    for case in range(3):
        assert {draw.distribution for draw in draws if draw.case == case} == {*ALL_DISTRIBUTIONS} - {
            Distribution.MIXED
        }
    assert sum(draw.bench for draw in draws) == 2
    assert len({draw.seed for draw in draws}) == len(draws)


def test_every_seed_depends_on_kernel_and_run() -> None:
    """Also the timed one: an answer that one kernel has seen must be of no use to the next."""
    one, other, later = (plan_draws(description(), k, s) for k, s in (("a", 1), ("b", 1), ("a", 2)))
    for draw, same_run, other_run in zip(one, other, later, strict=True):
        assert len({draw.seed, same_run.seed, other_run.seed}) == 3
    sets = [timed_draws(description().problem, kernel, 1, 8) for kernel in "ab"]
    assert len({draw.seed for drawn in sets for draw in drawn}) == 16


@pytest.mark.parametrize(
    "allowed, other",
    [
        (ALL_DISTRIBUTIONS, Distribution.MIXED),
        ((Distribution.NORMAL, Distribution.NEAR_CONSTANT, Distribution.LARGE), Distribution.LARGE),
        ((Distribution.NORMAL, Distribution.NEAR_CONSTANT, Distribution.SHIFTED), Distribution.SHIFTED),
        ((Distribution.NORMAL,), Distribution.NORMAL),
    ],
)
def test_the_bench_case_runs_on_two_distributions(
    allowed: tuple[Distribution, ...], other: Distribution
) -> None:
    orders = set()
    for kernel in range(20):
        both = [draw for draw in plan_draws(description(allowed), f"kernel {kernel}", 1) if draw.bench]
        kinds = tuple(draw.distribution for draw in both)
        assert sorted(kinds) == sorted((Distribution.NORMAL, other))
        assert both[0].seed != both[1].seed
        orders.add(kinds)
    assert len(orders) == len({Distribution.NORMAL, other}), "which comes first must not be known"


def test_the_secret_seed_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "cache_dir", lambda kind: tmp_path)
    assert secret_seed() == secret_seed()
    assert (tmp_path / "run-seed").stat().st_mode & 0o077 == 0


def test_where_nothing_can_be_kept_the_seed_is_the_processs_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("EVOENGINEER_CACHE_DIR", str(tmp_path / "file"))
    assert secret_seed() == secret_seed()
