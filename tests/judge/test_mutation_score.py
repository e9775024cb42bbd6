"""The mutation score: broken copies of a baseline are found out. A few kinds here; `problems check` does them all."""

import pytest

pytest.importorskip("torch")

from tests.judge.conftest import JudgeText

from evoengineer.problem.catalog import find_problem
from evoengineer.problem.mutation import mutants_of

KINDS = [
    ("softmax", "missing barrier", "race"),
    ("softmax", "wrong start", "wrong"),
    ("vector_add", "lower precision", "wrong"),
    ("vector_add", "dropped tail", "wrong"),
    ("vector_add", "missing guard", "memory_error"),
    ("matmul", "swapped index", "wrong|memory_error"),
    ("matmul", "first case only", "wrong"),
]


@pytest.mark.parametrize("problem, kind, outcome", KINDS)
def test_a_mutant_is_found_out(problem: str, kind: str, outcome: str, judge_text: JudgeText) -> None:
    path = find_problem(problem).problem.baseline
    assert path is not None
    mutant = next(each for each in mutants_of(path.read_text(encoding="utf-8")) if each.kind == kind)
    verdict = judge_text(problem, mutant.source)
    assert str(verdict.outcome) in outcome.split("|"), f"{mutant.change}: {verdict.summary}"
