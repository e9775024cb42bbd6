"""Every method, driven to the end with a scripted judge: exact budgets, and guidance as the paper's table says."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tests.search.runs import Answers, Outcomes, evolve
from tests.search.scripted import reply

from evoengineer.propose.protocol import ProposerError, Request
from evoengineer.search.endings import LoopOptions
from evoengineer.search.methods import METHODS, method_names

# method -> (keys that some prompt must carry, keys that no prompt may carry)
TABLE = {
    "free": ({"I1"}, {"I2", "I3", "I4", "history"}),
    "insight": ({"I1", "I3"}, {"I2", "I4", "history"}),
    "full": ({"I1", "I2", "I3", "history"}, {"I4"}),
    "solution": ({"I1", "I2", "history"}, {"I3", "I4"}),
    "funsearch": ({"I1", "I2", "history"}, {"I3", "I4"}),
    "ai-cuda-engineer": ({"I1", "I2", "I3", "history"}, {"I4"}),
    "best-of-n": ({"I1"}, {"I2", "I3", "I4", "history"}),
    "guided": ({"I1", "I2", "I3", "history", "profile", "repair"}, {"I4"}),
}
HEADINGS = {
    "I1": "# Task",
    "I2": "# Earlier solutions",
    "I3": "# Insights",
    "I4": "# Techniques",
    "history": "# Everything tried so far",
    "profile": "# Profile",
    "repair": "# A candidate that failed",
}
OPERATORS = {
    "free": {"free"},
    "insight": {"insight"},
    "full": {"initialise", "crossover", "mutate"},
    "solution": {"i1", "e1", "e2", "m1", "m2"},
    "funsearch": {"complete"},
    "ai-cuda-engineer": {"convert", "translate", "evolve", "retrieve"},
    "best-of-n": {"sample"},
    "guided": {"plan", "bottleneck", "combine", "parametrise", "repair"},
}


def mixed(request: Request) -> str | Exception:
    """Good, bad, repeated and missing answers, as a function of the proposal's number."""
    number = request.number
    random = Random(number)
    if number % 11 == 0:
        return ProposerError("the endpoint is tired")
    if number % 7 == 0:
        return "I would rather not."
    if number % 5 == 0:
        return reply("again", time=90)
    if number % 9 == 0:
        return reply(f"twin{number}", time=80, build="twin")
    outcome = random.choice(["valid", "valid", "valid", "wrong", "compile_error", "race"])
    bound = random.choice(["dram", "lsu", "fma"])
    return reply(f"k{number}", f"idea {number}", outcome=outcome, time=100 - number, bound=bound)


def run_all(path: Path, method: str, answer: object = mixed, **how: object) -> tuple[Outcomes, Answers]:
    answers = Answers(answer)  # type: ignore[arg-type]
    return evolve(path, answers, method=method, **how), answers  # type: ignore[arg-type]


def test_the_table_covers_every_method() -> None:
    assert set(TABLE) == set(OPERATORS) == set(method_names())


@pytest.mark.parametrize("method", method_names())
def test_exactly_45_trials_whatever_happens(method: str, tmp_path: Path) -> None:
    done, _ = run_all(tmp_path, method)
    trials = [row[0] for row in done.rows("trial", "kind = 'trial'")]
    assert done.result.ending == "finished"
    assert trials == list(range(1, 46))
    kinds = {row[0] for row in done.rows("kind")}
    assert kinds == {"baseline", "trial", "duplicate", "failed"}
    assert done.loop.budget.trials.used == 45
    assert done.loop.budget.trials.reserved == 0
    assert done.loop.budget.tokens.reserved == 0


@pytest.mark.parametrize("method", method_names())
def test_exactly_45_trials_when_everything_is_invalid(method: str, tmp_path: Path) -> None:
    done, _ = run_all(
        tmp_path, method, lambda r: reply(f"bad{r.number}", outcome="compile_error"), repair=True
    )
    assert done.result.progress.trials == 45
    assert done.result.progress.valid == 0
    assert done.result.progress.best is not None
    assert done.result.progress.best.number == 0, "the baseline stays the best"


@pytest.mark.parametrize("method", method_names())
def test_one_and_four_workers_give_the_same_archive(method: str, tmp_path: Path) -> None:
    forms = []
    for workers in (1, 4):
        folder = tmp_path / str(workers)
        done, _ = run_all(folder, method, options=LoopOptions(workers=workers), repair=True, knowledge=True)
        forms.append(done.canonical())
    assert forms[0] == forms[1]


@pytest.mark.parametrize("method", method_names())
def test_prompts_carry_the_guidance_of_the_papers_table(method: str, tmp_path: Path) -> None:
    done, answers = run_all(tmp_path, method)
    wanted, unwanted = TABLE[method]
    seen: set[str] = set()
    for number, guidance, operator in done.rows("number, guidance, operator", "number > 0"):
        prompt = answers.prompt(number)
        keys = set(guidance.split(","))
        seen |= keys
        assert not keys & unwanted
        for key, heading in HEADINGS.items():
            assert (heading in prompt) == (key in keys), (number, key)
        assert operator in OPERATORS[method]
    assert seen == wanted
    assert {row[0] for row in done.rows("operator", "number > 0")} == OPERATORS[method]


@pytest.mark.parametrize("method", method_names())
def test_knowledge_can_be_added_to_every_method(method: str, tmp_path: Path) -> None:
    done, answers = run_all(
        tmp_path,
        method,
        lambda r: reply(f"k{r.number}", time=100 - r.number, bound="dram"),
        knowledge=True,
        trials=12,
    )
    assert all("I4" in guidance.split(",") for (guidance,) in done.rows("guidance", "number > 0"))
    assert all("# Techniques" in request.user for request in answers.requests)


@pytest.mark.parametrize("method", method_names())
def test_parents_are_distinct_and_as_many_as_the_operator_takes(method: str, tmp_path: Path) -> None:
    done, _ = run_all(tmp_path, method)
    found = next(each for each in METHODS if each.name == method)
    most = {each.name: each.parents for each in (*found.opening, *found.cycle, found.fallback)}
    lineage: dict[int, list[int]] = {}
    for child, parent in done.archive.connection.execute("SELECT child, parent FROM lineage"):
        lineage.setdefault(child, []).append(parent)
    valid = {row[0] for row in done.rows("number", "outcome = 'valid'")}
    for number, operator, after in done.rows("number, operator, after", "number > 0"):
        parents = lineage.get(number, [])
        if operator == "repair":
            assert len(parents) == 1
            continue
        assert len(parents) == len(set(parents)) <= most[operator]
        assert all(parent in valid for parent in parents)
        assert all(parent <= after for parent in parents), "a parent was settled before its child was planned"


def test_best_of_n_asks_the_same_thing_every_time(tmp_path: Path) -> None:
    done, answers = run_all(tmp_path, "best-of-n")
    assert len({request.prompt for request in answers.requests}) == 1
    assert [row[0] for row in done.rows("occurrence", "number > 0")] == list(range(len(done.rows()) - 1))


def test_funsearch_shows_two_programs_with_the_best_last(tmp_path: Path) -> None:
    _, answers = run_all(
        tmp_path, "funsearch", lambda r: reply(f"k{r.number}", time=100 - r.number), trials=30
    )
    two = [request for request in answers.requests if "Solution 2" in request.user]
    assert two
    for request in two:
        first, second = request.user.split("Solution 2")
        assert _microseconds(first) > _microseconds(second)


def _microseconds(text: str) -> float:
    import re

    found = re.findall(r'": ([\d.]+) us', text)
    return float(found[-1])


def test_full_shows_at_most_three_insights_with_what_came_of_them(tmp_path: Path) -> None:
    _, answers = run_all(tmp_path, "full")
    sections = [
        r.user.split("# Insights")[1].split("\n# ")[0] for r in answers.requests if "# Insights" in r.user
    ]
    assert sections
    assert max(section.count("\n- ") for section in sections) == 3
    assert any("(helped:" in section for section in sections)
    assert any("(did not work:" in section for section in sections)


def test_repair_shows_the_model_its_own_failure(tmp_path: Path) -> None:
    def answer(request: Request) -> str:
        if "# A candidate that failed" in request.user:
            return reply(f"mended{request.number}", time=50)
        return reply(f"broken{request.number}", outcome="wrong")

    done, answers = run_all(tmp_path, "free", answer, repair=True, trials=20)
    repairs = done.rows("number", "operator = 'repair'")
    assert len(repairs) >= 8
    prompt = answers.prompt(repairs[0][0])
    assert "scripted wrong" in prompt
    assert "evidence of broken1" in prompt
    assert done.rows("guidance", "operator = 'repair'")[0][0] == "I1,repair"
    without, _ = run_all(tmp_path / "off", "free", answer, repair=False, trials=20)
    assert without.rows("number", "operator = 'repair'") == []


def test_a_candidate_is_repaired_twice_at_most(tmp_path: Path) -> None:
    done, _ = run_all(
        tmp_path, "free", lambda r: reply(f"b{r.number}", outcome="wrong"), repair=True, lookahead=1
    )
    operators = [row[0] for row in done.rows("operator", "number > 0")]
    assert operators[:6] == ["free", "repair", "repair", "free", "repair", "repair"]
