"""Reading an archive changes nothing; what is not an archive stays what it is."""

import os
import sqlite3
from pathlib import Path

import pytest
from tests.search.runs import Answers, evolve
from tests.search.scripted import reply

from evoengineer.archive import Archive
from evoengineer.archive.reading import status, summaries
from evoengineer.cli import main
from evoengineer.errors import EvoEngineerError, UsageError


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    done = evolve(tmp_path, Answers(lambda request: reply(f"k{request.number}", time=50)), trials=2)
    done.archive.close()
    return tmp_path / "archive.db"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_reader_cannot_write(archive: Path) -> None:
    with Archive(archive, read_only=True) as opened:
        assert [each.run.id for each in summaries(opened)] == ["run"]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            opened.connection.execute("DELETE FROM runs")


def test_reading_leaves_the_archive_as_it_was(archive: Path) -> None:
    """SQLite may leave the index of its log beside it, which holds nothing."""
    before = archive.read_bytes()
    with Archive(archive, read_only=True) as opened:
        summaries(opened)
        record = opened.run("run")
        assert status(opened, record) == "finished"
        assert not opened.lock("run").held_elsewhere()
    assert archive.read_bytes() == before
    assert not archive.with_name("archive.db.locks").exists()


@pytest.mark.parametrize("text", [b"", b"notes of mine\n" * 50], ids=["empty", "text"])
@pytest.mark.parametrize(
    "command", [["runs"], ["show", "x"], ["export", "x"], ["resume", "x"]], ids=lambda c: c[0]
)
def test_a_file_that_is_no_archive_is_refused_and_kept(
    tmp_path: Path, text: bytes, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes(text)
    assert main([*command, "--archive", str(file)]) == 2
    assert str(file) in capsys.readouterr().err
    assert contents(tmp_path) == {str(file): text}


def test_another_programs_database_is_not_made_ours(tmp_path: Path) -> None:
    file = tmp_path / "mail.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE mail (text TEXT)")
    before = file.read_bytes()
    for options in ({}, {"create": False}, {"read_only": True}):
        with pytest.raises(UsageError, match="not an archive of EvoEngineer"):
            Archive(file, **options)
    assert file.read_bytes() == before


def test_a_lock_is_seen_without_being_taken(archive: Path) -> None:
    with Archive(archive) as opened, opened.lock("run"):
        assert opened.lock("run").held_elsewhere()
        with pytest.raises(EvoEngineerError, match="worked on by another process"):
            opened.lock("run").acquire()
    with Archive(archive) as opened:
        assert not opened.lock("run").held_elsewhere()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_archive_in_a_folder_that_cannot_be_written(archive: Path) -> None:
    archive.parent.chmod(0o555)
    try:
        with Archive(archive, read_only=True) as opened:
            assert len(summaries(opened)) == 1
    finally:
        archive.parent.chmod(0o755)
