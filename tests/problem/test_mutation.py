"""Broken copies of a kernel: one fault each, of every kind that the text offers, always the same ones."""

from collections import Counter

import pytest

from evoengineer.problem.catalog import shipped
from evoengineer.problem.mutation import mutants_of


def baseline(name: str) -> str:
    return (shipped()[name].parent / "baseline.cu").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name, kinds",
    [
        (
            "vector_add",
            {"dropped tail", "dropped tile", "missing guard", "guard off by one", "lower precision"},
        ),
        ("matmul", {"swapped index", "loop bound", "wrong start", "sign flip"}),
        ("softmax", {"missing barrier", "copy of an input", "constant", "first case only", "stale end"}),
    ],
)
def test_kinds(name: str, kinds: set[str]) -> None:
    assert kinds <= {mutant.kind for mutant in mutants_of(baseline(name))}


def test_each_differs_from_the_kernel_and_from_the_others() -> None:
    for name in shipped():
        source = baseline(name)
        mutants = mutants_of(source)
        assert mutants == mutants_of(source)
        assert len(mutants) >= 8, name
        assert len({mutant.source for mutant in mutants} | {source}) == len(mutants) + 1
        assert max(Counter(mutant.kind for mutant in mutants).values()) <= 4


def test_a_mutant_says_what_was_changed() -> None:
    tail = next(
        each for each in mutants_of(baseline("kernels91/matmul/square")) if each.kind == "dropped tail"
    )
    assert tail.change == "line 7: if (row >= n - 1 || column >= n) return;"


def test_comments_and_host_code_stay() -> None:
    for mutant in mutants_of(baseline("softmax")):
        if mutant.kind in ("sign flip", "loop bound", "missing guard"):
            assert (
                mutant.source.split("torch::Tensor forward")[1]
                == baseline("softmax").split("torch::Tensor forward")[1]
            )
