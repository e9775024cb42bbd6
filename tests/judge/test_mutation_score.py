"""The mutation score: broken copies of a baseline are found out. A few kinds here; `suite mutants` does them all."""

import pytest

pytest.importorskip("torch")

from tests.judge.conftest import JudgeText

from evoengineer.cli import main
from evoengineer.judge import mutation_score
from evoengineer.problem.catalog import find_problem
from evoengineer.problem.mutation import Mutant, mutants_of

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


def test_a_suite_says_which_mutants_survive(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two mutants of a real baseline: one is found out, and one (a comment's worth of change) is the baseline."""

    def few(baseline: str) -> list[Mutant]:
        tail = next(each for each in mutants_of(baseline) if each.kind == "dropped tail")
        return [tail, Mutant("comment", "a comment at the end", baseline + "// end\n")]

    monkeypatch.setattr(mutation_score, "mutants_of", few)
    assert main(["suite", "mutants", "--suite", "starter", "vector_add", "--workers", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "all in all: 1 of 1 mutants of the baseline are found out; 1 compile to the same code or not at all"
    )


def test_a_survivor_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def survivor(baseline: str) -> list[Mutant]:
        return [Mutant("harmless", "256 threads more", baseline.replace("threads = 256", "threads = 512"))]

    monkeypatch.setattr(mutation_score, "mutants_of", survivor)
    assert main(["suite", "mutants", "--suite", "starter", "vector_add", "--workers", "1"]) == 1
    out = capsys.readouterr().out
    assert "    survived: harmless: 256 threads more" in out
    assert "0 of 1 mutants" in out
