"""`evoengineer bench`: its settings file, its progress, its report, and signals."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.search.scripted import ScriptedJudge, reply, task

from evoengineer.cli import main
from evoengineer.experiment import run as running
from evoengineer.experiment.bench import BenchProgress
from evoengineer.experiment.evolving import list_runs
from evoengineer.judge.verdict import Verdict
from evoengineer.problem import catalog
from evoengineer.propose.fake_endpoint import FakeEndpoint, by_number


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(running, "open_judge", lambda settings: ScriptedJudge())
    monkeypatch.setattr(running, "gather_task", lambda settings: task(name=settings.problem))
    monkeypatch.setattr(catalog, "shipped", dict)  # nothing to estimate PyTorch's time of
    monkeypatch.setenv("EVOENGINEER_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    with FakeEndpoint(by_number([reply(f"k{n}", f"idea {n}", time=100 - n) for n in range(1, 60)])) as fake:
        yield fake


def settings(tmp_path: Path, url: str, more: str = "") -> Path:
    file = tmp_path / "run.toml"
    file.write_text(f'problem = "toy"\nmodel = "m"\nbase_url = "{url}"\ntrials = 4\n{more}')
    return file


def test_a_bench_from_a_file_ends_with_a_report(
    endpoint: FakeEndpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = settings(tmp_path, endpoint.url)
    assert main(["bench", "--config", str(file), "--methods", "full,free", "--name", "b", "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert "[0/2] b/toy/full/m/0: 1 of 4 trials, best 1.01x; about" in out
    assert "[1/2] b/toy/full/m/0: 4 trials, 4 valid, best 1.04x; finished: all trials are done" in out
    assert f"report: {tmp_path}/reports/b/report.html" in out
    data = json.loads((tmp_path / "reports" / "b" / "report.json").read_text())
    assert [run["id"] for run in data["runs"]] == ["b/toy/full/m/0", "b/toy/free/m/0"]
    assert data["groups"][0]["mean_speedup"]["value"] == pytest.approx(100 / 96)

    again = [
        "bench",
        "--config",
        str(file),
        "--methods",
        "free,full",
        "--name",
        "b",
        "--out",
        str(tmp_path / "o"),
    ]
    assert main(again) == 0
    data = json.loads((tmp_path / "o" / "report.json").read_text())
    assert [run["method"] for run in data["runs"]] == ["free", "full"]  # as asked, not as finished


def test_settings_of_one_run_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = settings(tmp_path, "http://127.0.0.1:1/v1", 'record = "x.jsonl"\n')
    assert main(["bench", "--config", str(file)]) == 2
    assert "a bench cannot use record" in capsys.readouterr().err
    assert main(["bench", "--config", str(tmp_path / "none.toml")]) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_both_signals_finish_cleanly(
    number: signal.Signals,
    endpoint: FakeEndpoint,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Interrupting(ScriptedJudge):
        """The signal comes while the first candidate is judged."""

        def _judge(self, source: str):  # type: ignore[no-untyped-def]  # noqa: ANN202
            if sum(self.judged.values()) == 1:
                os.kill(os.getpid(), number)
            return super()._judge(source)

    monkeypatch.setattr(running, "open_judge", lambda settings: Interrupting())
    command = [
        "bench",
        "--config",
        str(settings(tmp_path, endpoint.url)),
        "--methods",
        "free,full",
        "--jobs",
        "1",
    ]
    assert threading.current_thread() is threading.main_thread()
    assert main(command) == 128 + signal.SIGINT
    assert "give the same command again to continue" in capsys.readouterr().out
    monkeypatch.setattr(running, "open_judge", lambda settings: ScriptedJudge())
    assert main(command) == 0
    assert "report:" in capsys.readouterr().out


def test_what_is_left_goes_by_the_pace_of_this_session() -> None:
    now = 0.0
    progress = BenchProgress(cells=3, trials=30, clock=lambda: now)
    progress.earlier(10)
    progress.cell_done(10, 10)
    assert progress.seconds_left is None
    now = 8.0
    for _ in range(4):
        progress.charged()
    assert progress.seconds_left == 2.0 * 16
    progress.cell_done(4, 10)  # ended early: six trials less to wait for
    assert progress.seconds_left == 2.0 * 10
    assert (progress.cells_done, progress.trials_done) == (2, 14)


def test_trials_that_are_not_needed_are_handed_on(
    endpoint: FakeEndpoint,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One problem's baseline is at the light; the other's runs get its trials, once."""

    class Lit(ScriptedJudge):
        def __init__(self, light_us: float) -> None:
            super().__init__()
            self.light_us = light_us

        def _judge(self, source: str) -> Verdict:
            verdict = super()._judge(source)
            assert verdict.timing is not None
            return replace(verdict, timing=replace(verdict.timing, speed_of_light_us=self.light_us))

    monkeypatch.setattr(
        running, "open_judge", lambda settings: Lit(99.0 if settings.problem == "near" else 10.0)
    )
    monkeypatch.setattr(catalog, "select", lambda suite, names: names)
    file = tmp_path / "run.toml"
    file.write_text(f'model = "m"\nbase_url = "{endpoint.url}"\ntrials = 4\nenough = 0.95\n')
    command = ["bench", "--config", str(file), "--problems", "near,far", "--methods", "free", "--jobs", "1"]
    assert main(command) == 0
    assert "handed on" not in capsys.readouterr().out, "exact budgets are the default"
    for expected in ("handed on to bench/far/free/m/0: 4 trials", ""):
        assert main([*command, "--hand-on"]) == 0
        out = capsys.readouterr().out
        assert expected in out
        assert ("handed on" in out) == bool(expected), "what was given is not given again"
        counts = {run.id: len(run.trials) for run in list_runs(archive=tmp_path / "archive.db")}
        assert counts == {"bench/near/free/m/0": 0, "bench/far/free/m/0": 8}
    file.write_text(file.read_text().replace("enough = 0.95\n", ""))
    assert main([*command, "--hand-on"]) == 2
    assert "say how much is enough" in capsys.readouterr().err
