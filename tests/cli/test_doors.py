"""The doors of the command line: runs that are refused, kept in order, resumed and replayed; files that are none."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.search.scripted import ScriptedJudge, kernel, reply, task

from evoengineer.archive.store import Archive
from evoengineer.cli import main
from evoengineer.errors import EvoEngineerError
from evoengineer.experiment import run as session
from evoengineer.propose.fake_endpoint import Answer, FakeEndpoint, by_number

ROOT = Path(__file__).parents[2]
OWN = """
from evoengineer.search.methods import Method
from evoengineer.search import operators as op
from evoengineer.search.populations import SingleBest

class Mine(SingleBest):
    def add(self, member, island=0):
        self.nothing_of_that_name

mine = Method("mine", "fails", Mine, (op.FREE,), fallback=op.FREE)
"""


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(session, "open_judge", lambda settings: ScriptedJudge())
    monkeypatch.setattr(session, "gather_task", lambda settings: task(name="toy"))
    monkeypatch.setenv("EVOENGINEER_HOME", str(tmp_path))
    for name in ("OPENAI_API_KEY", "EVOENGINEER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    answers = [Answer(reply(f"k{n}", f"idea {n}", time=100 - n)) for n in range(1, 60)]
    with FakeEndpoint(by_number(answers)) as fake:
        yield fake


def evolve(fake: FakeEndpoint, *more: str) -> int:
    return main(["evolve", "toy", "--model", "m", "--base-url", fake.url, *more])


def names() -> list[str]:
    with Archive(Path("archive.db")) as archive:
        return [row[0] for row in archive.connection.execute("SELECT id FROM runs ORDER BY id")]


# -- runs that are refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["--device", "sim:gtx480"],
        ["--device", "nonsense"],
        ["--model", "gpt-4.1"],
        ["--model", "m", "--base-url", "http://127.0.0.1:1/v1", "--prices", "bad.toml"],
        ["--model", "m", "--base-url", "http://127.0.0.1:1/v1", "--max-cost", "1"],
        ["--replay", "bad.toml"],
        ["--record", "folder"],
    ],
)
def test_a_run_that_is_refused_leaves_no_ghost(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.toml").write_text("[models.m]\ninput = -1\noutput = nan\n")
    Path("folder").mkdir()
    assert main(["evolve", "toy", "--name", "r", *words]) in (1, 2)
    assert "internal error" not in capsys.readouterr().err
    assert names() == []
    assert main(["evolve", "toy", "--name", "r", "--trials", "1"]) == 0, "the name is still free"


def test_a_run_whose_judge_does_not_open_leaves_no_ghost(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(settings: object) -> None:
        raise EvoEngineerError("no isolation here")

    monkeypatch.setattr(session, "open_judge", refuse)
    assert main(["evolve", "toy", "--name", "r"]) == 1
    assert names() == []


def test_a_run_on_no_cluster_leaves_no_ghost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "open_judge", session.open_cluster)
    assert main(["evolve", "toy", "--name", "r", "--cluster", "BADADDRESS"]) in (1, 2)
    assert names() == []


def test_a_run_with_an_invalid_baseline_leaves_no_ghost(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = task(name="toy", baseline=kernel("bad", outcome="wrong"))
    monkeypatch.setattr(session, "gather_task", lambda settings: bad)
    assert main(["evolve", "toy", "--name", "r"]) == 1
    assert names() == []


@pytest.mark.parametrize("name", ["", " ", "-r", "a\nb", "x" * 300])
def test_a_name_that_is_none_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evolve", "toy", f"--name={name}"]) == 2
    assert "a run cannot be called" in capsys.readouterr().err


# -- keeping runs in order ---------------------------------------------------------------------------------


def test_runs_are_deleted_renamed_and_noted(
    endpoint: FakeEndpoint, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in ("one", "two"):
        assert evolve(endpoint, "--trials", "3", "--name", name) == 0
    assert main(["runs", "note", "one", "warp", "per", "row"]) == 0
    assert main(["runs", "rename", "one", "first"]) == 0
    assert names() == ["first", "two"]
    assert (tmp_path / "best" / "first.cu").exists()
    assert not (tmp_path / "best" / "one.cu").exists()
    capsys.readouterr()
    assert main(["show", "first"]) == 0
    assert "note      warp per row" in capsys.readouterr().out
    assert main(["runs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["note"] == "warp per row"
    assert main(["resume", "first", "--trials", "5"]) == 0, "a renamed run goes on"
    assert main(["runs", "rename", "two", "first"]) == 2
    assert main(["runs", "delete", "fir"]) == 2, "only by its whole name"
    assert main(["runs", "delete", "first"]) == 0
    assert names() == ["two"]
    with Archive(tmp_path / "archive.db") as archive:
        assert archive.connection.execute("PRAGMA foreign_key_check").fetchall() == []
        for table in ("proposals", "replies", "verdicts", "lineage", "calls", "sessions"):
            left = archive.connection.execute(f"SELECT count(*) FROM {table} WHERE run != 'two'").fetchone()[
                0
            ]
            assert left == 0, table
    assert main(["show", "two"]) == 0, "what the other run shares with it is kept"
    assert main(["runs", "delete", "two"]) == 0
    with Archive(tmp_path / "archive.db") as archive:
        for table in ("prompts", "kernels"):
            assert archive.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0


def test_a_run_that_is_worked_on_is_not_deleted(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    assert evolve(endpoint, "--trials", "1", "--name", "r") == 0
    with Archive(tmp_path / "archive.db") as archive, archive.lock("r"):
        assert main(["runs", "delete", "r"]) == 1
        assert main(["runs", "rename", "r", "s"]) == 1
    assert names() == ["r"]


# -- resuming ----------------------------------------------------------------------------------------------


def test_an_extended_run_is_resumed_without_saying_so_again(
    endpoint: FakeEndpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evolve(endpoint, "--trials", "4", "--name", "r") == 0
    assert main(["resume", "r", "--trials", "6"]) == 0
    assert main(["resume", "r"]) == 0
    assert "6 of 6 charged" in capsys.readouterr().out.rpartition("run r")[2]


@pytest.mark.parametrize("what", ["problem", "baseline"])
def test_a_problem_or_baseline_that_changed_is_noticed(
    what: str, endpoint: FakeEndpoint, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("own").mkdir()
    problem = Path("own/problem.py")
    problem.write_text("x = 1\n")
    assert main(["evolve", "own", "--trials", "1", "--name", "r"]) == 0
    if what == "problem":
        problem.write_text("x = 2\n")
    else:
        other = task(name="toy", baseline=kernel("other", time=3))
        monkeypatch.setattr(session, "gather_task", lambda settings: other)
    assert main(["resume", "r", "--trials", "3"]) == 2
    assert "changed since the run began" in capsys.readouterr().err
    assert names() == ["r"], "it is not lost for that"


# -- recordings --------------------------------------------------------------------------------------------


def test_record_and_replay_have_one_digest(capsys: pytest.CaptureFixture[str]) -> None:
    """Also when calls failed, and were billed, and one proposal got no answer at all."""
    answers = [
        Answer(reply(f"k{n}", time=100 - n), faults={2: ("empty",), 4: ("empty",) * 2}.get(n, ()))
        for n in range(1, 30)
    ]
    with FakeEndpoint(by_number(answers)) as fake:
        assert evolve(fake, "--trials", "6", "--name", "a", "--record", "x.jsonl", "--attempts", "2") == 0
    assert main(["evolve", "toy", "--replay", "x.jsonl", "--trials", "6", "--name", "b"]) == 0
    capsys.readouterr()
    digests = []
    for name in ("a", "b"):
        assert main(["show", name, "--digest"]) == 0
        digests.append(capsys.readouterr().out)
    assert digests[0] == digests[1]
    with Archive(Path("archive.db")) as archive:
        kinds = [row[0] for row in archive.connection.execute("SELECT kind FROM proposals WHERE run = 'b'")]
    assert kinds.count("failed") == 1


@pytest.mark.parametrize("text", ["", '{"format": "evoengineer recording", "version": 1}\n'])
def test_an_empty_recording_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.jsonl").write_text(text)
    assert main(["evolve", "toy", "--replay", "x.jsonl"]) == 2
    assert "x.jsonl" in capsys.readouterr().err
    assert names() == []


# -- money, and code of the user's own ---------------------------------------------------------------------


def test_the_cost_of_a_model_without_a_price_is_unknown(
    endpoint: FakeEndpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evolve(endpoint, "--trials", "2", "--name", "r") == 0
    out = capsys.readouterr().out
    assert "cost unknown" in out
    assert "$0.0000" not in out
    assert main(["runs"]) == 0
    assert "unknown" in capsys.readouterr().out
    assert main(["runs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["usd"] is None
    assert main(["evolve", "toy", "--trials", "1"]) == 0
    assert "$0.0000" in capsys.readouterr().out, "the rewriter costs nothing, and that is known"


def test_an_error_in_a_users_own_method_names_its_file_and_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.py").write_text(OWN)
    assert main(["evolve", "toy", "--method", "own.py:mine", "--trials", "3"]) == 1
    line = OWN.splitlines().index("        self.nothing_of_that_name") + 1
    error = capsys.readouterr().err
    assert f"own.py, line {line}: AttributeError" in error
    assert "internal error" not in error


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 / 0\n", "own.py, line 1: ZeroDivisionError"),
        ("def f(:\n", "own.py, line 1: invalid syntax"),
        ("import sys\nsys.exit(3)\n", "own.py, line 2: SystemExit"),
        (OWN.replace("SingleBest):", "object):").replace("Mine,", "dict,"), "has no seed()"),
    ],
)
def test_a_method_file_that_fails_is_named(text: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.py").write_text(text)
    assert main(["evolve", "toy", "--method", "own.py:mine"]) == 2
    assert words in capsys.readouterr().err


# -- numbers and files -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["evolve", "toy", "--max-cost", "nan"],
        ["evolve", "toy", "--max-cost", "-1"],
        ["evolve", "toy", "--max-cost", "inf"],
        ["evolve", "toy", "--max-seconds", "nan"],
        ["evolve", "toy", "--judge-workers", "-1"],
        ["evolve", "toy", "--temperature", "nan"],
        ["evolve", "toy", "--target", "nan"],
        ["evolve", "toy", "--timeout", "inf"],
        ["evolve", "toy", "--seed", "9" * 40],
        ["evolve", "toy", "--trials", "9" * 30],
        ["bench", "--max-cost", "nan"],
        ["bench", "--max-seconds", "-1"],
        ["bench", "--max-tokens-total", "-5"],
        ["bench", "--jobs", "-1"],
        ["bench", "--repeats", "0"],
        ["fake-endpoint", "s.toml", "--port", "-1"],
        ["fake-endpoint", "s.toml", "--port", "70000"],
        ["integrity", "--workers", "-1"],
        ["suite", "verify", "--workers", "-1"],
    ],
)
def test_numbers_that_are_none_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "evoengineer: " in capsys.readouterr().err


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "1e400"])
def test_numbers_of_a_file_are_no_better(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("run.toml").write_text(f'problem = "toy"\nmax_cost = {value}\n')
    assert main(["evolve", "--config", "run.toml"]) == 2
    assert "max_cost" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["evolve", "--config", "latin.txt"],
        ["evolve", "toy", "--model", "m", "--prices", "latin.txt"],
        ["evolve", "toy", "--replay", "latin.txt"],
        ["fake-endpoint", "latin.txt"],
        ["judge", "latin.txt", "--problem", "softmax"],
        ["judge", "a-folder", "--problem", "softmax"],
        ["evolve", "--config", "a-folder"],
    ],
)
def test_files_that_are_not_utf8_or_no_files(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("latin.txt").write_bytes("Grüße = 1".encode("latin-1"))
    Path("a-folder").mkdir()
    assert main(words) == 2
    error = capsys.readouterr().err
    assert words[-1] in error or words[1] in error
    assert "internal error" not in error


@pytest.mark.parametrize(
    "words",
    [
        ["export", "r", "--output", "a-file"],
        ["export", "r", "--output", "a-file/inside"],
        ["evolve", "toy", "--record", "a-file/inside"],
        ["evolve", "toy", "--archive", "a-file/inside.db"],
        ["runs", "--archive", "."],
        ["archive", "recover", "--output", "a-file/inside"],
    ],
)
def test_output_paths_that_cannot_be(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evolve", "toy", "--trials", "1", "--name", "r"]) == 0
    Path("a-file").write_text("mine")
    assert main(words) == 2
    assert "internal error" not in capsys.readouterr().err
    assert Path("a-file").read_text() == "mine"


# -- archives that are damaged -----------------------------------------------------------------------------


def damage(path: Path, where: int, size: int = 4096) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(path.read_bytes())
    data[where : where + size] = os.urandom(size)
    path.write_bytes(data)


def test_a_whole_archive_is_whole(endpoint: FakeEndpoint, capsys: pytest.CaptureFixture[str]) -> None:
    assert evolve(endpoint, "--trials", "3", "--name", "r") == 0
    assert main(["archive", "check"]) == 0
    assert "whole" in capsys.readouterr().out


def test_what_a_damaged_archive_holds_is_saved(
    endpoint: FakeEndpoint, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in ("one", "two"):
        assert evolve(endpoint, "--trials", "20", "--name", name) == 0
    path = tmp_path / "archive.db"
    pages = path.stat().st_size // 4096
    with sqlite3.connect(path) as db:
        root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'verdicts'").fetchone()[0]
    assert root < pages
    damage(path, (root - 1) * 4096)
    assert main(["archive", "check"]) == 1
    assert "archive recover" in capsys.readouterr().out
    assert main(["runs"]) in (0, 1)
    assert "internal error" not in capsys.readouterr().err
    assert main(["archive", "recover"]) == 0
    assert "not all could be read of: verdicts" in capsys.readouterr().out
    saved = ["--archive", "archive-recovered.db"]
    assert main(["archive", "check", *saved]) == 0
    assert main(["runs", *saved]) == 0
    out = capsys.readouterr().out
    assert "one" in out
    assert "two" in out
    assert main(["resume", "one", *saved]) == 0, "it goes on where the evidence ends"
    assert main(["archive", "recover"]) == 2, "nothing is overwritten"


def test_a_file_that_is_no_archive_at_all(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "archive.db").write_bytes(b"no database, but long enough to be looked at " * 100)
    assert main(["archive", "check"]) == 1
    assert main(["archive", "recover"]) == 1
    assert "nothing can be read" in capsys.readouterr().err
    assert not (tmp_path / "archive-recovered.db").exists()
    assert main(["runs"]) == 2
    assert "archive check" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["", ".", "/", ".."])
def test_an_archive_without_a_name_is_not_recovered(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["archive", "recover", "--archive", place]) == 2
    assert "no such file" in capsys.readouterr().err


# -- places ------------------------------------------------------------------------------------------------


def command(*words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    variables = {"PATH": os.environ["PATH"], **environment}
    return subprocess.run(
        [sys.executable, "-m", "evoengineer", *words],
        capture_output=True,
        check=False,
        env=variables,
        cwd=ROOT,
    )


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_a_locale_that_is_not_utf8_works(tmp_path: Path) -> None:
    done = command("problems", "show", "softmax", **ASCII, HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    Path("grüße.toml").write_text("by = 'number'\nanswer = 3  # grüße\n", encoding="utf-8")
    refused = command("fake-endpoint", str(tmp_path / "grüße.toml"), **ASCII, HOME=str(tmp_path))
    assert refused.returncode == 2
    assert b"answers are tables" in refused.stderr


def test_home_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """Root may write anywhere; a home that is a file stops everybody."""
    (tmp_path / "home").write_text("")
    home = str(tmp_path / "home")
    refused = command("runs", HOME=home)
    assert refused.returncode == 2
    assert b"no such file" in refused.stderr
    refused = command("evolve", "softmax", "--trials", "1", HOME=home)
    assert refused.returncode == 2, refused.stderr
    assert b"is a file, not a folder" in refused.stderr


def test_a_problem_that_never_ends_is_stopped_by_name(tmp_path: Path) -> None:
    (tmp_path / "endless").mkdir()
    (tmp_path / "endless" / "problem.py").write_text("while True:\n    pass\n")
    done = command(
        "problems", "check", str(tmp_path / "endless"), HOME=str(tmp_path), EVOENGINEER_PROBLEM_SECONDS="0.1"
    )
    assert done.returncode == 2, done.stderr
    assert b"endless" in done.stderr
    assert b"does not end" in done.stderr
