"""The commands of the search, with a scripted judge and a fake endpoint."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.search.scripted import ScriptedJudge, reply, task

from evoengineer.cli import main
from evoengineer.experiment import run as session
from evoengineer.judge.verdict import Timing
from evoengineer.propose.fake_endpoint import Answer, FakeEndpoint, by_number
from evoengineer.report.summary import without_baseline
from evoengineer.report.view import LiveView, progress_rows
from evoengineer.search.progress import Progress


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(session, "open_judge", lambda settings: ScriptedJudge())
    monkeypatch.setattr(session, "gather_task", lambda settings: task(name=settings.problem))
    monkeypatch.setenv("EVOENGINEER_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    answers = [
        Answer(
            reply(f"k{n}", f"idea {n}", time=100 - n), faults=("429",) if n == 2 else (), retry_after="0.01"
        )
        for n in range(1, 60)
    ]
    with FakeEndpoint(by_number(answers)) as fake:
        yield fake


def evolve(fake: FakeEndpoint, *more: str) -> int:
    return main(["evolve", "toy", "--model", "m", "--base-url", fake.url, *more])


def test_a_run_from_start_to_export(
    endpoint: FakeEndpoint, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert evolve(endpoint, "--trials", "6", "--name", "r") == 0
    out = capsys.readouterr().out
    assert "baseline: 100.00 us simulated" in out
    assert "1/6  initialise: valid  99.00 us simulated  1.01x  k1  * new best" in out
    assert "call for proposal 2 failed: rate_limited" in out
    assert "6 of 6 charged" in out
    assert f"kernel    {tmp_path}/best/r.cu" in out
    assert main(["runs"]) == 0
    assert "r    toy      full" in capsys.readouterr().out
    assert main(["runs", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert (listed["trials"], listed["status"], listed["simulated"]) == (6, "finished", True)
    assert main(["show", "r"]) == 0
    assert "mutate" in capsys.readouterr().out
    assert main(["show", "r", "--proposal", "3"]) == 0
    shown = capsys.readouterr().out
    assert "---- prompt ----" in shown
    assert "name: k3" in shown
    assert main(["show", "r", "--best"]) == 0
    assert "id=k6" in capsys.readouterr().out
    assert main(["show", "r", "--insights"]) == 0
    assert "idea 1" in capsys.readouterr().out
    assert main(["export", "r", "--output", "out"]) == 0
    assert (tmp_path / "out" / "kernel.cu").is_file()


def test_resume_extends_a_run(endpoint: FakeEndpoint, capsys: pytest.CaptureFixture[str]) -> None:
    assert evolve(endpoint, "--trials", "3", "--name", "r") == 0
    assert main(["resume", "r", "--trials", "5"]) == 0
    assert "5 of 5 charged" in capsys.readouterr().out
    assert main(["resume", "r", "--trials", "4"]) == 2
    assert "can only be more, not 4" in capsys.readouterr().err


def test_a_run_can_be_resumed_from_another_folder(
    endpoint: FakeEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "own.py").write_text(
        "from evoengineer.search.methods import METHODS\nfrom dataclasses import replace\n"
        "mine = replace(METHODS[0], name='mine')\n"
    )
    assert (
        evolve(endpoint, "--trials", "2", "--name", "r", "--method", "own.py:mine", "--record", "x.jsonl")
        == 0
    )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["resume", "r", "--trials", "3"]) == 0
    (tmp_path / "own.py").write_text("from evoengineer.search.methods import METHODS\nmine = METHODS[1]\n")
    assert main(["resume", "r", "--trials", "4"]) == 2
    assert "has changed since the run began" in capsys.readouterr().err


@pytest.mark.parametrize(
    "module", ["evoengineer.cli.evolve", "evoengineer.search.loop", "evoengineer.archive"]
)
def test_imports_are_light(module: str) -> None:
    script = (
        f"import sys, {module}; print(*[m for m in ('torch', 'numpy', 'openai', 'rich') if m in sys.modules])"
    )
    heavy = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert heavy == []


def test_record_and_replay_give_the_same_digest(
    endpoint: FakeEndpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evolve(endpoint, "--trials", "5", "--name", "a", "--record", "x.jsonl") == 0
    for name, workers in (("b", "1"), ("c", "4")):
        words = [
            "evolve",
            "toy",
            "--replay",
            "x.jsonl",
            "--trials",
            "5",
            "--name",
            name,
            "--concurrency",
            workers,
        ]
        assert main(words) == 0
    capsys.readouterr()
    digests = []
    for name in ("b", "c"):
        assert main(["show", name, "--digest"]) == 0
        digests.append(capsys.readouterr().out)
    assert digests[0] == digests[1]


def test_a_run_toml_and_flags_that_win(
    endpoint: FakeEndpoint, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "run.toml").write_text(
        f'problem = "toy"\nmodel = "m"\nbase_url = "{endpoint.url}"\ntrials = 9\nmethod = "free"'
    )
    assert main(["evolve", "--config", "run.toml", "--trials", "2", "--name", "r"]) == 0
    out = capsys.readouterr().out
    assert "2 of 2 charged" in out
    assert "method free" in out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["evolve"], "which problem?"),
        (["evolve", "toy", "--method", "fre"], "did you mean free?"),
        (["evolve", "toy", "--replay", "none.jsonl"], "none.jsonl: no such file"),
        (["evolve", "toy", "--model", "m"], "--base-url"),
        (["evolve", "toy", "--trials", "0"], "trials must be positive"),
        (["resume", "nothing"], "no such file"),
        (["bench", "--suite", "none"], "no suite 'none'; there are:"),
        (["bench", "--suite", "starter", "--problems", "sofmax"], "no problem 'sofmax' in suite starter"),
    ],
)
def test_wrong_usage(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert text in capsys.readouterr().err


def test_an_unknown_price_with_a_cap_is_refused(
    endpoint: FakeEndpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evolve(endpoint, "--max-cost", "1") == 1
    assert "price of 'm' is not known" in capsys.readouterr().err
    assert endpoint.asks == []


def test_a_cost_cap_holds(endpoint: FakeEndpoint, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text("[models.m]\ninput = 1\noutput = 1\n")
    cap = ["--max-cost", "0.02", "--prices", "prices.toml", "--max-tokens", "1000"]
    assert evolve(endpoint, "--trials", "45", "--name", "r", *cap) == 0
    assert "stopped: $0.0" in capsys.readouterr().out
    with session.Archive(tmp_path / "archive.db") as archive:
        spent = archive.connection.execute("SELECT sum(nano_usd) FROM proposals").fetchone()[0]
    assert 0.01e9 < spent <= 0.02e9


def test_a_wrong_key_stops_with_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeEndpoint(by_number([Answer("x", faults=("401",) * 99)])) as fake:
        assert evolve(fake, "--trials", "3") == 1
    assert "refused the key" in capsys.readouterr().out


def test_bench_runs_the_matrix_resumably_and_prints_the_table(
    endpoint: FakeEndpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["bench", "--suite", "starter", "--problems", "softmax,matmul", "--methods", "free,best-of-n"]
    words += ["--models", "m", "--base-url", endpoint.url, "--trials", "4", "--repeats", "2", "--jobs", "3"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert out.count("4 trials, 4 valid") == 8
    row = next(line.split() for line in out.splitlines() if line.startswith("free"))
    assert row[:4] == ["free", "m", "4", "16"]
    assert "speedups are simulated" in out
    asked = len(endpoint.asks)
    assert main(words) == 0
    assert len(endpoint.asks) == asked, "finished runs are not run again"
    assert main([*words, "--table"]) == 0
    assert "MEDIAN SPEEDUP" in capsys.readouterr().out


def test_bench_keeps_the_total_budget(
    endpoint: FakeEndpoint, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = [
        "bench",
        "--suite",
        "starter",
        "--problems",
        "softmax,matmul",
        "--methods",
        "free",
        "--models",
        "m",
    ]
    words += [
        "--base-url",
        endpoint.url,
        "--trials",
        "20",
        "--max-tokens-total",
        "20000",
        "--max-tokens",
        "500",
    ]
    assert main(words) == 0
    with session.Archive(tmp_path / "archive.db") as archive:
        used = archive.connection.execute("SELECT sum(tokens) FROM proposals").fetchone()[0]
    assert 10_000 < used <= 20_000
    assert "may exceed the limit" in capsys.readouterr().out


def test_the_live_view_tells_progress_best_verdicts_tokens_cost_and_time() -> None:
    progress = Progress(trials=4, limit=45, tokens=1200, nano_usd=5_000_000, seconds=60.0)
    progress.attempts["rate_limited"] = 2
    rows = dict(progress_rows(progress))
    assert rows["failed calls"] == "rate_limited 2"
    assert rows["tokens"] == "1,200   cost $0.0050"
    assert rows["time"] == "1 min 00 s, about 10 min 15 s left"
    from rich.console import Console

    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(LiveView("title").render(progress))
    assert "4 of 45" in console.export_text()


def test_ctrl_c_finishes_cleanly(tmp_path: Path) -> None:
    script = (
        "import sys; from tests.search.scripted import *; from evoengineer.cli import main\n"
        "from evoengineer.experiment import run as session\n"
        "session.open_judge = lambda settings: ScriptedJudge()\n"
        "session.gather_task = lambda settings: task()\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    answers = [Answer(reply(f"k{n}", time=100 - n), delay_seconds=0.2) for n in range(1, 60)]
    root = str(Path(__file__).parents[2])
    with FakeEndpoint(by_number(answers)) as fake:
        words = ["evolve", "toy", "--model", "m", "--base-url", fake.url, "--trials", "40", "--name", "r"]
        process = subprocess.Popen(
            [sys.executable, "-c", script, *words, "--archive", str(tmp_path / "a.db")],
            cwd=root, env={"PYTHONPATH": root, "PATH": "/usr/bin:/bin"}, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        while len(fake.asks) < 6:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
        assert process.returncode == 128 + signal.SIGINT
        asked = len(fake.asks)
    assert "continue with: evoengineer resume r" in out
    with session.Archive(tmp_path / "a.db") as archive:
        kept = archive.connection.execute("SELECT count(*) FROM replies").fetchone()[0]
        assert kept == asked, "what was paid for is kept"
        assert archive.run("r").ending == "interrupted"


def test_a_run_without_a_baseline_says_so_and_starts_from_the_first_valid_kernel(
    endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(session, "gather_task", lambda settings: task(name=settings.problem, baseline=""))
    assert evolve(endpoint, "--trials", "2", "--name", "r") == 0
    out = capsys.readouterr().out
    assert "toy has no baseline kernel: the search starts from the model's first valid one" in out
    assert "problems adopt" in out
    assert "best      98.00 us simulated" in out


def test_without_a_baseline_pytorch_and_the_light_are_what_there_is() -> None:
    timing = Timing(
        device="sim:rtx4090",
        simulated=True,
        time_us=20.0,
        interval_us=(20.0, 20.0),
        baseline_us=None,
        speedup=None,
        speedup_interval=None,
        pytorch_us=50.0,
        speed_of_light_us=5.0,
    )
    assert without_baseline(timing) == [
        "PyTorch   50.00 us, estimated; 2.50x its speed",
        "light     5.00 us (25% of its speed reached)",
    ]
    assert without_baseline(replace(timing, pytorch_us=None))[0].startswith("light")
