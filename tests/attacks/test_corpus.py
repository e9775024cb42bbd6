"""The corpus reads as meant, and the two numbers of `evoengineer integrity` count what they say."""

from pathlib import Path

import pytest

from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.judge.corpus import CONTROLS, RAISED, Result, Specimen, choose, load_corpus
from evoengineer.judge.verdict import Outcome
from evoengineer.problem.catalog import locate
from evoengineer.report.integrity import totals

CORPUS = load_corpus()
KINDS = {
    "aligned", "cache", "compiler", "constant", "detection", "escape", "forging", "host", "identity", "laundering",
    "leak", "leftovers", "limits", "mutation", "nan", "partial", "precision", "reading", "refused", "streams", "time",
}  # fmt: skip


def test_there_are_several_of_each_kind() -> None:
    hostile = [each.kind for each in CORPUS if each.hostile]
    assert set(hostile) == KINDS
    assert len(hostile) >= 70
    assert all(hostile.count(kind) >= 2 for kind in KINDS)
    assert sum(not each.hostile for each in CORPUS) >= 40


def test_every_problem_is_there_and_every_text_is_a_kernel() -> None:
    for each in CORPUS:
        locate(each.problem)
        assert "// paste:" not in each.source, each.name
        assert each.source.count("PYBIND11_MODULE") == 1, each.name


def test_no_attack_expects_to_be_valid() -> None:
    assert not [each.name for each in CORPUS if each.hostile and Outcome.VALID in each.expected]


def test_a_twin_differs_in_what_its_attack_says() -> None:
    pairs = [each for each in CORPUS if each.kind == "identity"]
    assert pairs
    for each in pairs:
        assert each.first
        assert each.first not in each.source


def test_choosing() -> None:
    assert {each.kind for each in choose(CORPUS, kinds=["cache", "nan"])} == {"cache", "nan"}
    assert [each.name for each in choose(CORPUS, names=["by_pointer"])] == ["cache/by_pointer"]
    assert any(each.simulated_only for each in choose(CORPUS, device="sim:t4"))
    assert not any(each.simulated_only for each in choose(CORPUS, device="cuda:0"))
    with pytest.raises(UsageError, match="no kind 'cahce'; there is: aligned, cache"):
        choose(CORPUS, kinds=["cahce"])
    with pytest.raises(UsageError, match="no kernel 'nobody'"):
        choose(CORPUS, names=["nobody"])


def attack(costs: float | None = None) -> Specimen:
    return Specimen("time/x", "time", "", "vector_add", "", (Outcome.DISHONEST,), f"{CONTROLS}/y", costs)


CONTROL = Specimen(f"{CONTROLS}/y", CONTROLS, "", "vector_add", "", (Outcome.VALID,))


@pytest.mark.parametrize(
    ("result", "passed", "expected"),
    [
        (Result(attack(), "dishonest", ""), True, True),
        (Result(attack(), "crashed", ""), True, False),
        (Result(attack(), "valid", "", 1.0), False, False),
        (Result(attack(), RAISED, ""), False, False),
        (Result(attack(), "dishonest", "", said_too_much=True), False, False),
        (Result(attack(costs=2.0), "valid", "", 19.0, 10.0), False, False),
        (Result(attack(costs=2.0), "valid", "", 21.0, 10.0), True, True),
        (Result(attack(costs=2.0), "valid", "", 21.0, None), False, False),
        (Result(CONTROL, "valid", "", 1.0), True, True),
        (Result(CONTROL, "race", ""), False, False),
        (Result(CONTROL, RAISED, ""), False, False),
    ],
)
def test_what_counts_as_caught(result: Result, passed: bool, expected: bool) -> None:
    assert (result.passed, result.expected) == (passed, expected)


def test_totals() -> None:
    results = [
        Result(attack(), "dishonest", ""),
        Result(attack(), "crashed", ""),
        Result(attack(), "valid", "", 1.0),
        Result(CONTROL, "wrong", ""),
    ]
    assert totals(results).splitlines() == [
        "attacks caught: 2 of 3",
        "honest kernels refused: 1 of 1",
        "caught by another verdict than expected: 1",
    ]


def test_a_file_that_makes_no_sense_is_an_error(tmp_path: Path) -> None:
    kind = tmp_path / "cache"
    kind.mkdir()
    (kind / "x.cu").write_text("// attack: something\n// problem: softmax\n// colour: red\n\nint x;\n")
    with pytest.raises(EvoEngineerError, match="missing honest, expect, unknown colour"):
        load_corpus(tmp_path)
    (kind / "x.cu").write_text(
        "// attack: a\n// problem: softmax\n// honest: nobody\n// expect: wrong\n\nint x;\n"
    )
    with pytest.raises(EvoEngineerError, match="no control 'honest/nobody' for softmax"):
        load_corpus(tmp_path)
