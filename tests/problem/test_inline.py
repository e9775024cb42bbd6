"""Problems written in Python code, and the selection of a suite's problems."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from evoengineer.errors import UsageError
from evoengineer.problem.catalog import find_problem, load_problem, select
from evoengineer.problem.inline import define_problem
from evoengineer.problem.model import Case, Tolerance

pytest.importorskip("torch")

import torch.nn.functional as F

CASES = [Case.check(n=1), Case.check(n=7), Case.check(n=100), Case.bench(n=1000)]
SCALE = 2.0
THING = object()


def helper(x: Any) -> Any:
    return x * SCALE * math.pi


def scaled(x: Any) -> Any:
    return F.relu(helper(x))


def uses_a_thing(x: Any) -> Any:
    return x if THING else -x


def make_inputs(case: Case, generator: Any) -> dict[str, Any]:
    return {"x": generator.values(case.n)}


def test_functions_take_along_what_they_use() -> None:
    problem = define_problem(
        "scaled",
        reference=scaled,
        make_inputs=make_inputs,
        cases=CASES,
        baseline="// a kernel",
        title="Scaled, then cut off",
        tolerance=Tolerance(times_pytorch=8.0, reason="to be seen again"),
        flops="3*n",
    )
    assert (problem.name, problem.title, problem.flops) == ("scaled", "Scaled, then cut off", "3*n")
    assert problem.tolerance.times_pytorch == 8.0
    assert problem.baseline is not None
    assert problem.baseline.read_text() == "// a kernel"
    text = problem.path.read_text()
    assert text.index("SCALE = 2.0") < text.index("def helper") < text.index("def scaled")
    assert "import torch.nn.functional as F" in text
    assert find_problem(problem).arguments[0]["shape"] == [1000]
    assert load_problem(problem) == problem


def test_texts_do_as_well_and_the_same_definition_is_the_same_problem() -> None:
    def define() -> Path:
        return define_problem(
            "twice",
            reference="def reference(x): return 2 * x",
            make_inputs="def make_inputs(case, generator): return {'x': generator.values(case.n)}",
            cases=CASES,
        ).path

    assert define() == define()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "a/b"}, "a word of letters, digits and _, not 'a/b'"),
        ({"reference": lambda x: x}, "the source of reference cannot be read: write it with def"),
        ({"reference": "def other(x): return x"}, "the text of reference must define it"),
        ({"reference": uses_a_thing}, "reference uses THING, a object, which cannot be taken"),
        ({"cases": [{"n": 1}]}, r"cases are Case.check\(…\) and Case.bench\(…\)"),
        ({"cases": CASES[:2]}, "it needs at least three"),
    ],
)
def test_what_cannot_be_a_problem_is_refused(changes: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"name": "p", "reference": scaled, "make_inputs": make_inputs, "cases": CASES}
    given |= changes
    with pytest.raises(UsageError, match=words):
        define_problem(given.pop("name"), **given)


def test_a_suite_is_its_problems_without_the_extra_ones() -> None:
    every = select("kernels91")
    assert len(every) == 91
    assert not any("/extra/" in name for name in every)
    assert len(select("kernels91", ["extra"])) == 6
    assert select("kernels91", ["softmax", "matmul/square"]) == [
        "kernels91/activation_pooling/softmax",
        "kernels91/matmul/square",
    ]
    assert select("starter") == ["conv2d", "layer_norm", "matmul", "softmax", "vector_add"]
    assert len(select(None)) == 96


@pytest.mark.parametrize(
    ("suite", "names", "words"),
    [
        ("none", [], "no suite 'none'; there are: kernels91, starter"),
        ("kernels91", ["squar"], r"no problem 'squar' in suite kernels91 \(did you mean square\?\)"),
    ],
)
def test_a_wrong_selection_is_refused(suite: str, names: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        select(suite, names)
