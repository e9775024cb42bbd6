"""Runs and experiments as Python objects, with a scripted judge and a fake endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.search.scripted import ScriptedJudge, reply, task

import evoengineer
from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.experiment import run as running
from evoengineer.experiment.bench import Bench, make_cells
from evoengineer.propose.fake_endpoint import Answer, FakeEndpoint, by_number
from evoengineer.report.paper_table import paper_table


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(running, "open_judge", lambda settings: ScriptedJudge())
    monkeypatch.setattr(running, "gather_task", lambda settings: task(name=settings.problem))
    monkeypatch.setenv("EVOENGINEER_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    with FakeEndpoint(by_number([reply(f"k{n}", f"idea {n}", time=100 - n) for n in range(1, 60)])) as fake:
        yield fake


def test_a_run_from_python(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    seen: list[evoengineer.Trial] = []
    run = evoengineer.evolve(
        "toy", model="m", base_url=endpoint.url, trials=4, name="r", on_trial=seen.append
    )
    assert (run.status, run.record.proposer, run.archive) == ("finished", "m", tmp_path / "archive.db")
    assert tuple(seen) == run.trials
    assert [trial.number for trial in run.trials] == [1, 2, 3, 4]
    best = run.best
    assert best is not None
    assert best.name == "k4"
    assert (best.source, best.speedup) == (run.source, run.speedup)
    assert run.summary.trials == 4
    assert evoengineer.resume(run, trials=6) is run
    assert len(run.trials) == 6
    assert [each.id for each in evoengineer.list_runs()] == ["r"]
    assert evoengineer.list_runs(problem="other") == []
    assert evoengineer.load_run("r").trials == run.trials


def test_what_is_given_wins_over_the_file(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    text = f'problem = "toy"\nmodel = "m"\nbase_url = "{endpoint.url}"\ntrials = 9\nmethod = "free"'
    (tmp_path / "run.toml").write_text(text)
    run = evoengineer.evolve(config="run.toml", trials=2)
    assert (run.record.trials, run.record.method) == (2, "free")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"problem": None}, "which problem"),
        ({"trails": 3}, r"settings: unknown key 'trails' \(did you mean trials\?\)"),
        ({"trials": "3"}, "trials must be a whole number, not '3'"),
        ({"trials": 0}, "trials must be positive"),
        ({"method": "ful"}, r"did you mean full\?"),
        ({"replay": "none.jsonl"}, "none.jsonl: no such file"),
    ],
)
def test_wrong_usage(given: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        evoengineer.evolve(**{"problem": "toy", **given})
    assert not (tmp_path / "archive.db").exists()


def test_what_prompts_depend_on_cannot_be_changed(endpoint: FakeEndpoint) -> None:
    run = evoengineer.evolve("toy", model="m", base_url=endpoint.url, trials=2)
    with pytest.raises(UsageError, match="seed cannot be changed"):
        evoengineer.resume(run, seed=3)
    with pytest.raises(UsageError, match="can only be more, not 1"):
        evoengineer.resume(run, trials=1)


def test_an_exception_in_the_callback_ends_the_run_and_resume_continues_it(endpoint: FakeEndpoint) -> None:
    def refuse(trial: evoengineer.Trial) -> None:
        if trial.number == 2:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        evoengineer.evolve("toy", model="m", base_url=endpoint.url, trials=4, name="r", on_trial=refuse)
    run = evoengineer.load_run("r")
    assert run.status == "interrupted"
    assert len(evoengineer.resume(run).trials) == 4


def test_a_proposer_that_gives_up_is_an_error() -> None:
    with (
        FakeEndpoint(by_number([Answer("x", faults=("401",) * 99)])) as fake,
        pytest.raises(EvoEngineerError, match="run r stopped: .*refused the key"),
    ):
        evoengineer.evolve("toy", model="m", base_url=fake.url, trials=2, name="r")


def test_rows_of_a_bench_are_in_the_order_asked_for(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    given = {"base_url": endpoint.url, "trials": 2}
    archive = tmp_path / "archive.db"

    def bench(problems: list[str], methods: list[str]) -> Bench:
        return Bench(archive, make_cells("b", problems, methods, ["z", "a"], settings=given), jobs=2)

    bench(["toy"], ["free", "best-of-n"]).run()
    turned = bench(["other", "toy"], ["best-of-n", "free"])
    assert [each.run.method for each in turned.summaries()] == ["best-of-n"] * 2 + ["free"] * 2
    turned.run()
    assert turned.failed == 0
    rows = [line.split()[:2] for line in paper_table(turned.summaries()).splitlines()[1:5]]
    assert rows == [["best-of-n", "z"], ["best-of-n", "a"], ["free", "z"], ["free", "a"]]


def test_a_bench_that_is_interrupted_begins_nothing(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    cells = make_cells("b", ["toy"], ["free"], ["m"], settings={"base_url": endpoint.url, "trials": 2})
    bench = Bench(tmp_path / "archive.db", cells)
    bench.interrupt()
    bench.run()
    assert endpoint.asks == []
