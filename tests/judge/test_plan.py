"""Which inputs a candidate is judged on."""

from pathlib import Path

import pytest

from evoengineer.judge import plan
from evoengineer.judge.plan import DRAWS, bench_draws, plan_draws, secret_seed
from evoengineer.problem.catalog import Description
from evoengineer.problem.model import ALL_DISTRIBUTIONS, Case, Distribution, Problem, Tolerance


def description(megabytes: float = 1.0, flops: str = "") -> Description:
    cases = (Case.check(n=1), Case.check(n=7), Case.check(n=33), Case.bench(n=1000))
    problem = Problem(
        "p", Path("p/problem.py"), "", "", cases, Tolerance(), ALL_DISTRIBUTIONS, None, "folder", flops=flops
    )
    return Description(problem, ({"kind": "tensor", "dtype": "float32", "bytes": int(megabytes * 1e6)},), ())


def test_every_case_sees_every_distribution() -> None:
    draws = plan_draws(description(), "kernel", 1)
    for case in range(3):
        assert {draw.distribution for draw in draws if draw.case == case} == set(ALL_DISTRIBUTIONS)
    assert sum(draw.timed for draw in draws) == 1
    assert len({draw.seed for draw in draws}) == len(draws)


def test_seeds_depend_on_kernel_and_run_but_the_timed_one_on_the_run_only() -> None:
    one, other, later = (plan_draws(description(), k, s) for k, s in (("a", 1), ("b", 1), ("a", 2)))
    for draw, same_run, other_run in zip(one, other, later, strict=True):
        assert (draw.seed == same_run.seed) == draw.timed
        assert draw.seed != other_run.seed


def test_large_bench_cases_are_drawn_less_often() -> None:
    assert bench_draws(description(1)) == DRAWS
    assert bench_draws(description(40)) == 2
    assert bench_draws(description(1, "1e10")) == 1


def test_normal_inputs_are_timed_where_they_are_allowed() -> None:
    timed = next(draw for draw in plan_draws(description(), "kernel", 1) if draw.timed)
    assert timed.distribution is Distribution.NORMAL


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
