"""The archive: migrations, names of runs, locks, what it lists, and how fast."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.search.runs import Answers, evolve
from tests.search.scripted import reply

from evoengineer.archive import Archive, default_archive, schema
from evoengineer.archive.reading import exchange, insight_uses, proposals, summaries, summary, verdict
from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.judge.verdict import Outcome
from evoengineer.propose.protocol import Request


def answer(request: Request) -> str:
    if request.number % 5 == 0:
        return reply("same", time=99)
    outcome = "wrong" if request.number % 4 == 0 else "valid"
    return reply(f"k{request.number}", outcome=outcome, time=100 - request.number)


def make(archive: Archive, name: str) -> None:
    archive.create_run(
        id=name, problem="toy", method="full", proposer="p", device="sim:rtx4090", seed=1, trials=45,
        settings={"a": 1}, task={}, environment={"python": "3"},
    )  # fmt: skip


def test_a_new_file_has_the_present_schema_and_wal(tmp_path: Path) -> None:
    with Archive(tmp_path / "deep" / "a.db") as archive:
        assert archive.connection.execute("SELECT max(version) FROM schema").fetchone()[0] == schema.VERSION
        assert archive.connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_an_older_file_is_migrated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    with Archive(path) as archive:
        make(archive, "old")
    monkeypatch.setattr(
        schema, "MIGRATIONS", (*schema.MIGRATIONS, "ALTER TABLE runs ADD COLUMN colour TEXT DEFAULT 'x';")
    )
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    for _ in range(2):
        with Archive(path) as archive:
            assert archive.connection.execute("SELECT colour FROM runs WHERE id = 'old'").fetchone()[0] == "x"
            versions = [row[0] for row in archive.connection.execute("SELECT version FROM schema")]
            assert versions == list(range(1, schema.VERSION + 1))


def test_a_migration_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    Archive(path).close()
    broken = "CREATE TABLE half (a TEXT);\nCREATE TABLE runs (a TEXT);"
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, broken))
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    with pytest.raises(EvoEngineerError, match="already exists"):
        Archive(path)
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'half'").fetchone()[0] == 0


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Archive(path) as archive:
        archive.connection.execute("INSERT INTO schema VALUES (99, 0)")
    with pytest.raises(EvoEngineerError, match="written by a newer EvoEngineer"):
        Archive(path)


@pytest.mark.parametrize("content", [b"this is no database, only a text that is long enough " * 40])
def test_a_file_that_is_no_archive_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(content)
    with pytest.raises(EvoEngineerError, match="--archive FILE"):
        Archive(path)


def test_a_missing_archive_is_not_made_by_reading(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        Archive(tmp_path / "none.db", create=False)


def test_the_default_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVOENGINEER_HOME", "/somewhere")
    assert default_archive() == Path("/somewhere/archive.db")
    monkeypatch.delenv("EVOENGINEER_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert default_archive() == Path("/data/evoengineer/archive.db")


def test_runs_by_name_or_beginning(tmp_path: Path) -> None:
    with Archive(tmp_path / "a.db") as archive:
        for name in ("softmax-full-1", "softmax-full-2", "matmul_free", "matmul"):
            make(archive, name)
        assert archive.run("matmul").id == "matmul"
        assert archive.run("matmul_").id == "matmul_free"
        assert archive.run("softmax-full-2").settings == {"a": 1}
        with pytest.raises(UsageError, match="may be any of softmax-full-1, softmax-full-2"):
            archive.run("softmax")
        with pytest.raises(UsageError, match="no run 'x'"):
            archive.run("x")
        with pytest.raises(UsageError, match="there is a run 'matmul' already"):
            make(archive, "matmul")


def test_a_run_is_worked_on_by_one_process_at_a_time(tmp_path: Path) -> None:
    with Archive(tmp_path / "a.db") as archive:
        script = (
            "import sys; from pathlib import Path; from evoengineer.archive import Archive\n"
            "lock = Archive(Path(sys.argv[1])).lock('r'); lock.acquire(); print('held', flush=True); sys.stdin.read()"
        )
        other = subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / "a.db")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert archive.lock("r").held_elsewhere()
        with pytest.raises(EvoEngineerError, match="worked on by another process"):
            archive.lock("r").acquire()
        other.kill()
        other.communicate()
        assert not archive.lock("r").held_elsewhere(), "the system gives it back"


def test_what_the_commands_read(tmp_path: Path) -> None:
    done = evolve(tmp_path, Answers(answer), trials=12)
    archive = done.archive
    one = summary(archive, "run")
    assert [each.run.id for each in summaries(archive)] == ["run"]
    assert summaries(archive)[0].outcomes == one.outcomes
    assert one.trials == 12
    assert one.outcomes[Outcome.VALID] + one.outcomes[Outcome.WRONG] == 12
    assert one.duplicates == len(done.rows("number", "kind = 'duplicate'")) > 0
    assert one.tokens == 10 * one.proposals
    best = done.result.progress.best
    assert best is not None
    assert (one.best_number, one.best_us) == (best.number, best.time_us)
    assert one.baseline_us == 100.0
    listed = proposals(archive, "run")
    assert [each.number for each in listed] == list(range(one.proposals + 1))
    assert listed[one.best_number or 0].source == best.source
    judged = verdict(archive, "run", best.number)
    assert judged is not None
    assert judged.timing is not None
    assert judged.timing.time_us == best.time_us
    system, user, text = exchange(archive, "run", best.number)
    assert "expert in CUDA" in system
    assert "# Task" in user
    assert text is not None
    assert best.name in text
    assert len(insight_uses(archive, "run")) == 12
    assert archive.connection.execute("SELECT trials, tokens FROM costs").fetchone()[0] == 12


def test_an_archive_of_10000_trials_opens_and_lists_in_under_a_second(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Archive(path) as archive, archive.transaction() as db:
        for run in range(20):
            make_row = (f"run{run}", "toy", "full", "p", "sim:rtx4090", 1, 500, "{}", "{}", "{}", 0.0)
            db.execute(
                "INSERT INTO runs (id, problem, method, proposer, device, seed, trials, settings, task, environment,"
                " created_at) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
                make_row,
            )
            db.executemany(
                "INSERT INTO proposals (run, number, after, operator, guidance, knowledge, island, occurrence,"
                " reserved_tokens, reserved_nano_usd, kind, trial, outcome, time_us, speedup, improved, planned_at)"
                " VALUES (?, ?, 0, 'o', '', '[]', 0, 0, 0, 0, 'trial', ?, 'valid', ?, 1.0, ?, 0)",
                [(f"run{run}", number, number, 1000.0 - number, number % 50 == 0) for number in range(500)],
            )
    started = time.perf_counter()
    with Archive(path) as archive:
        found = summaries(archive)
    assert time.perf_counter() - started < 1.0
    assert len(found) == 20
    assert all(each.best_number == 450 for each in found)
