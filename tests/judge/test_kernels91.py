"""The suite kernels91: its make-up, and one baseline of each family through the judge."""

from collections import Counter

import pytest

pytest.importorskip("torch")

from tests.judge.conftest import JudgeText

from evoengineer.judge import Outcome
from evoengineer.kernel.forbidden import forbidden_in_text
from evoengineer.problem.catalog import find_problem, find_problems, shipped

FAMILIES = {
    "matmul": 18,
    "convolution": 26,
    "activation_pooling": 21,
    "normalisation_reduction": 14,
    "loss": 7,
    "cumulative": 5,
}
SAMPLE = [
    "matmul/transposed_a",
    "convolution/conv_transpose2d_strided_padded",
    "activation_pooling/max_pool_2d",
    "normalisation_reduction/group_norm",
    "loss/cross_entropy",
    "cumulative/masked_cumsum",
]


def members() -> list[str]:
    return [name for name in shipped() if name.startswith("kernels91/") and "/extra/" not in name]


def test_six_families() -> None:
    assert Counter(name.split("/")[1] for name in members()) == FAMILIES


def test_every_problem_keeps_the_contract() -> None:
    for description in find_problems(members()):
        problem = description.problem
        assert len(problem.check_cases) >= 4, problem.name
        assert problem.baseline is not None, problem.name
        assert not forbidden_in_text(problem.baseline.read_text(encoding="utf-8")), problem.name
        assert description.flops() > 0, problem.name
        assert 5e6 < description.moved_bytes() < 2e9, problem.name
        assert problem.tolerance.times_pytorch == 4 or problem.tolerance.reason, problem.name


@pytest.mark.parametrize("name", SAMPLE)
def test_a_baseline_of_each_family_is_valid(name: str, judge_text: JudgeText) -> None:
    baseline = find_problem(f"kernels91/{name}").problem.baseline
    assert baseline is not None
    verdict = judge_text(f"kernels91/{name}", baseline.read_text(encoding="utf-8"))
    assert verdict.outcome is Outcome.VALID, f"{verdict.summary}\n{verdict.evidence}"
